"""What a root keeps because nobody deletes it: savepoints by age, checkpoints of ended jobs, what jobs that run retain, and how old a file
may be that is still needed. Of one audit; bounded.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingest.uris import BadUri, canonical
from webapp.fleet.models import JobCurrent
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import ChainLink, CheckpointStorage, JobStorage, RootFigures
from webapp.storage.oldest_files import oldest_files

MOST_ROWS = 500
MOST_JOBS = 5_000
NEEDED, SUPERSEDED, LAST, UNKNOWN = "needed", "superseded", "last", "unknown"
RETAINED_SETTINGS = ("execution.checkpointing.num-retained", "state.checkpoints.num-retained")


@dataclass(frozen=True)
class KeptSavepoint:
    """``standing``: needed (a job that has not ended was restored from it), superseded (a newer snapshot of its job is whole), last (none
    is), unknown (whose it is). ``needed_by``: ids of those jobs."""

    path: str
    cluster: str
    job_id: str
    checkpoint_id: int | None
    written: datetime | None
    age_ms: float | None
    files: int
    bytes: int
    standing: str
    needed_by: tuple[str, ...]


@dataclass(frozen=True)
class EndedJob:
    """Checkpoints of a job that has ended, which Flink does not delete any more. ``needed_by``: jobs whose snapshots refer to its files."""

    cluster: str
    job_id: str
    name: str | None
    state: str | None
    last_written: datetime | None
    idle_ms: float | None
    checkpoints: int
    files: int
    bytes: int
    standing: str
    needed_by: tuple[str, ...]


@dataclass(frozen=True)
class RunningJob:
    """``oldest_file``: when the oldest file was written that its snapshots refer to; None where the lists of the audit do not say."""

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
    """``unsafe_age_ms``: deleting what is older than less than this breaks a snapshot of a job that has not ended."""

    root_uri: str
    as_of: datetime
    savepoints: tuple[KeptSavepoint, ...]
    ended: tuple[EndedJob, ...]
    running: tuple[RunningJob, ...]
    unsafe_age_ms: float | None
    unknown: tuple[str, ...]


def retention(figures: RootFigures) -> Retention:
    """Seven queries, and the lists of an audit once a day."""
    unknown: list[str] = []
    oldest = oldest_files(figures.audit)
    running = _running(figures, oldest or {})
    if running and oldest is None:
        unknown.append("How old the files are that jobs still need is not known: the lists of this audit are gone or too long.")
    ages = [one.oldest_file_age_ms for one in running if one.oldest_file_age_ms is not None]
    if len(running) == MOST_ROWS:
        unknown.append(f"Of more than {MOST_ROWS} jobs that have not ended those with most bytes are listed.")
    return Retention(
        root_uri=figures.root,
        as_of=figures.as_of,
        savepoints=kept_savepoints(figures),
        ended=ended_jobs(figures),
        running=running,
        unsafe_age_ms=max(ages, default=None),
        unknown=tuple(unknown),
    )


def kept_savepoints(figures: RootFigures) -> tuple[KeptSavepoint, ...]:
    """Oldest first."""
    rows = CheckpointStorage.objects.filter(audit=figures.audit, root=figures.root, is_savepoint=True).order_by("modified", "id")[
        :MOST_ROWS
    ]
    found = list(rows)
    sources = _restored_from()
    newer = _newest_whole(figures, {row.job_id for row in found if row.job_id})
    made = []
    for row in found:
        needed = tuple(sources.get(row.metadata_path.rpartition("/")[0], ()))
        last = newer.get((row.cluster, row.job_id)) if row.job_id else None
        is_older = last is not None and row.modified is not None and last > row.modified
        standing = NEEDED if needed else UNKNOWN if not row.job_id else SUPERSEDED if is_older else LAST
        age = _age(figures.as_of, row.modified)
        made.append(
            KeptSavepoint(
                row.metadata_path, row.cluster, row.job_id, row.checkpoint_id, row.modified, age, row.files, row.bytes, standing, needed
            )
        )
    return tuple(made)


def ended_jobs(figures: RootFigures) -> tuple[EndedJob, ...]:
    """Those that keep live files, idle longest first."""
    rows = JobStorage.objects.filter(audit=figures.audit, root=figures.root, terminal=True, checkpoints__gt=0, live_files__gt=0)
    found = list(rows.order_by("newest_modified", "id")[:MOST_ROWS])
    ids = [row.job_id for row in found]
    links = ChainLink.objects.filter(audit=figures.audit, kind="refers", other_job_id__in=ids).values_list("other_job_id", "job_id")
    needed = defaultdict(set)
    for other, by in links:
        needed[other].add(by)
    for directory, jobs in _restored_from().items():
        for job_id in set(directory.split("/")) & set(ids):
            needed[job_id] |= set(jobs)
    states = {(job.cluster, job.job_id): job.state for job in JobCurrent.objects.filter(job_id__in=ids).only("cluster", "job_id", "state")}
    return tuple(
        EndedJob(
            cluster=row.cluster,
            job_id=row.job_id,
            name=row.job_name,
            state=states.get((row.cluster, row.job_id)),
            last_written=row.newest_modified,
            idle_ms=_age(figures.as_of, row.newest_modified),
            checkpoints=row.checkpoints,
            files=row.live_files,
            bytes=row.live_bytes,
            standing=NEEDED if needed[row.job_id] else LAST,
            needed_by=tuple(sorted(needed[row.job_id])),
        )
        for row in found
    )


def _running(figures: RootFigures, oldest: Mapping[str, datetime]) -> tuple[RunningJob, ...]:
    rows = JobStorage.objects.filter(audit=figures.audit, root=figures.root, terminal=False).exclude(job_id="")
    found = list(rows.order_by("-bytes", "-id")[:MOST_ROWS])
    fields = ("cluster", "job_id", "checkpoint_config", "configuration")
    jobs = {(job.cluster, job.job_id): job for job in JobCurrent.objects.filter(job_id__in=[row.job_id for row in found]).only(*fields)}
    made = []
    for row in found:
        job = jobs.get((row.cluster, row.job_id))
        config: Mapping[str, Any] = (job.checkpoint_config if job else None) or {}
        written = oldest.get(row.job_id)
        made.append(
            RunningJob(
                cluster=row.cluster,
                job_id=row.job_id,
                name=row.job_name,
                retained_on_cancellation=config.get("retained_on_cancellation"),
                retained=_retained((job.configuration if job else None) or {}),
                checkpoints=row.checkpoints,
                bytes=row.bytes,
                oldest_file=written,
                oldest_file_age_ms=_age(figures.as_of, written),
            )
        )
    return tuple(made)


def _retained(configuration: Mapping[str, Any]) -> int | None:
    """How many completed checkpoints Flink keeps: 1 where its configuration is known and says nothing."""
    said = next((str(configuration[key]) for key in RETAINED_SETTINGS if configuration.get(key)), "")
    if said.isascii() and said.isdigit():
        return int(said[:6])
    return 1 if configuration and not said else None


def _restored_from() -> dict[str, list[str]]:
    """Canonical directory → ids of jobs that have not ended and were restored from it."""
    found: dict[str, list[str]] = defaultdict(list)
    rows = JobCurrent.objects.exclude(terminal=True).exclude(restored_path=None).order_by("-as_of", "-id")
    for job_id, path in rows.values_list("job_id", "restored_path")[:MOST_JOBS]:
        try:
            found[canonical(path or "", spellings()).removesuffix("/_metadata")].append(job_id)
        except BadUri:
            continue
    return found


def _newest_whole(figures: RootFigures, ids: set[str]) -> dict[tuple[str, str], datetime]:
    """(cluster, job) → when its newest snapshot was written of which no file is missing."""
    rows = CheckpointStorage.objects.filter(audit=figures.audit, job_id__in=ids, missing_files=0, modified__isnull=False)
    found: dict[tuple[str, str], datetime] = {}
    for cluster, job_id, at in rows.order_by("modified").values_list("cluster", "job_id", "modified").iterator(2_000):
        if at is not None:
            found[cluster, job_id] = at
    return found


def _age(as_of: datetime, at: datetime | None) -> float | None:
    return None if at is None else (as_of - at) / timedelta(milliseconds=1)
