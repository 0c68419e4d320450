"""What a root keeps because nobody deletes it, and the greatest age of a file still needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
from django.core.cache import cache

from ingest.messages import message
from ingest.metadata.owners import owner_directory
from ingest.parquet_stream import ParquetStream
from spark_jobs.audit_tables import STORAGE_LIVE, STORAGE_REFERENCE
from spark_jobs.manifest import BadManifest, Manifest
from webapp.fleet.models import JobCurrent
from webapp.storage.auditing import loading
from webapp.storage.idle_snapshots import (
    MOST_ROWS,
    EndedJob,
    KeptSavepoint,
    age_ms,
    ended_jobs,
    kept_savepoints,
)
from webapp.storage.models import JobStorage, RootFigures, StorageAudit
from webapp.work.run_files import file_uris

MOST_READ = 500_000
"""Reading so many rows of a list takes two seconds and some 200 MB."""
KEPT_S = 24 * 3600
_LISTS = (STORAGE_REFERENCE.name, STORAGE_LIVE.name)


def oldest_files(audit: StorageAudit) -> dict[str, datetime] | None:
    """Job directory → when its oldest referenced file was written; None without lists."""
    key = f"oldest-files:{audit.audit_id}"
    cached: dict[str, datetime] | None = cache.get(key)
    if cached is not None:
        return cached
    try:
        manifest = loading.read_manifest(audit) if audit.files_kept else None
    except (OSError, BadManifest):
        manifest = None
    if manifest is None or any(
        manifest.tables[name].rows > MOST_READ for name in _LISTS if name in manifest.tables
    ):
        return None
    files = _oldest_referred(manifest, audit)
    cache.set(key, files, KEPT_S)
    return files


def _oldest_referred(manifest: Manifest, audit: StorageAudit) -> dict[str, datetime]:
    references = _column_table(manifest, audit, STORAGE_REFERENCE.name, ("metadata_path", "path"))
    files = _column_table(manifest, audit, STORAGE_LIVE.name, ("path", "modified"))
    # Takes a third of the time and memory of a join.
    positions = pc.index_in(references["path"], value_set=files["path"])
    written = files["modified"].combine_chunks().take(positions.combine_chunks())
    oldest = pa.table({"metadata_path": references["metadata_path"], "modified": written}).group_by(
        "metadata_path"
    )
    instants: dict[str, datetime] = {}
    for row in oldest.aggregate([("modified", "min")]).to_pylist():
        directory = owner_directory(row["metadata_path"].rpartition("/")[0])
        if (at := row["modified_min"]) is not None:
            instants[directory] = min(at, instants.get(directory, at))
    return instants


def _column_table(
    manifest: Manifest, audit: StorageAudit, table: str, columns: Sequence[str]
) -> pa.Table:
    parts = []
    for uri in file_uris(manifest, table):
        with fsspec.open(uri, "rb") as stream:
            rows = ParquetStream(stream).read(["audit_id", *columns])
            parts.append(
                rows.filter(pc.equal(rows["audit_id"], audit.audit_id)).select(list(columns))
            )
    schema = pa.schema(
        [
            (name, pa.timestamp("us", tz="UTC") if name == "modified" else pa.string())
            for name in columns
        ]
    )
    return (
        pa.concat_tables([part.cast(schema) for part in parts]) if parts else schema.empty_table()
    )


RETAINED_SETTINGS = ("execution.checkpointing.num-retained", "state.checkpoints.num-retained")


@dataclass(frozen=True)
class RunningJob:
    """``oldest_file``: when the oldest file that its snapshots refer to was written; None if unknown."""

    cluster: str
    job_id: str
    name: str | None
    retained_on_cancellation: bool | None
    retained: int | None
    checkpoints: int
    bytes: int
    oldest_file: datetime | None
    oldest_file_age_ms: float | None


@dataclass(frozen=True)
class Retention:
    """``unsafe_age_ms``: a rule that deletes younger files breaks snapshots of running jobs."""

    savepoints: tuple[KeptSavepoint, ...]
    ended: tuple[EndedJob, ...]
    running: tuple[RunningJob, ...]
    unsafe_age_ms: float | None
    unknown: tuple[str, ...]


def root_retention(figures: RootFigures) -> Retention:
    """Takes seven queries and, once a day, the lists of an audit."""
    unknown: list[str] = []
    oldest = oldest_files(figures.audit)
    running = _running(figures, oldest or {})
    if running and oldest is None:
        unknown.append(
            message(
                "The age of the files that jobs still need is not known: the lists of this "
                "audit are gone or too long."
            )
        )
    ages = [job.oldest_file_age_ms for job in running if job.oldest_file_age_ms is not None]
    if len(running) == MOST_ROWS:
        unknown.append(
            message(
                "There are more than {most_rows:number} jobs that have not ended; those with "
                "most bytes are listed.",
                most_rows=MOST_ROWS,
            )
        )
    return Retention(
        savepoints=kept_savepoints(figures),
        ended=ended_jobs(figures),
        running=running,
        unsafe_age_ms=max(ages, default=None),
        unknown=tuple(unknown),
    )


def _running(figures: RootFigures, oldest: Mapping[str, datetime]) -> tuple[RunningJob, ...]:
    rows = JobStorage.objects.filter(
        audit=figures.audit, root=figures.root, terminal=False
    ).exclude(job_id="")
    storages = list(rows.order_by("-bytes", "-id")[:MOST_ROWS])
    fields = ("cluster", "job_id", "checkpoint_config", "configuration")
    jobs = {
        job.key: job
        for job in JobCurrent.objects.filter(job_id__in=[row.job_id for row in storages]).only(
            *fields
        )
    }
    running_jobs = []
    for row in storages:
        job = jobs.get((row.cluster, row.job_id))
        config: Mapping[str, Any] = (job.checkpoint_config if job else None) or {}
        written = oldest.get(row.directory)
        running_jobs.append(
            RunningJob(
                cluster=row.cluster,
                job_id=row.job_id,
                name=row.job_name,
                retained_on_cancellation=config.get("retained_on_cancellation"),
                retained=_retained((job.configuration if job else None) or {}),
                checkpoints=row.checkpoints,
                bytes=row.bytes,
                oldest_file=written,
                oldest_file_age_ms=age_ms(figures.as_of, written),
            )
        )
    return tuple(running_jobs)


def _retained(configuration: Mapping[str, Any]) -> int | None:
    setting = next(
        (str(configuration[key]) for key in RETAINED_SETTINGS if configuration.get(key)), ""
    )
    if setting.isascii() and setting.isdigit():
        return int(setting[:6])
    return 1 if configuration and not setting else None
