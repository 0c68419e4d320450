"""Retained checkpoints and savepoints that need a file."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from spark_jobs.manifest import BadManifest
from webapp.cleanup.missing_files import audited_files
from webapp.cleanup.missing_files.audited_files import History, TooMany
from webapp.cleanup.missing_files.written_paths import NamedFile
from webapp.fleet.models import JobCurrent
from webapp.storage.models import CheckpointStorage, MissingFile
from webapp.storage.newest_audits import latest_audits


@dataclass(frozen=True)
class Referrer:
    """A retained checkpoint or savepoint that needs the file. ``ended`` is about its job."""

    metadata_path: str
    cluster: str
    job_id: str
    job_name: str | None
    ended: bool | None
    checkpoint_id: int | None
    is_savepoint: bool
    superseded: bool


def referrers(
    file: NamedFile, known: History, unknown: list[str]
) -> tuple[tuple[Referrer, ...], datetime | None]:
    """By the references that an audit kept, else by the files that the newest audits found missing.

    Those of live jobs first.
    """
    audit, paths = known.newest, set()
    if audit is not None:
        try:
            paths = set(audited_files.referrers(audit, file.path))
        except (TooMany, OSError, BadManifest):
            unknown.append(
                gettext("What refers to the file could not be read from the newest audit.")
            )
    lacking = MissingFile.objects.filter(audit__in=latest_audits(), path=file.path[:600])
    superseded = dict(lacking.values_list("metadata_path", "superseded"))
    rows = CheckpointStorage.objects.filter(
        audit__in=latest_audits(), metadata_path__in=paths | superseded.keys()
    )
    storages = {row.metadata_path: row for row in rows.select_related("audit").order_by("id")}
    jobs = reported_jobs((row.cluster, row.job_id) for row in storages.values())
    made = [
        Referrer(
            metadata_path=row.metadata_path,
            cluster=row.cluster,
            job_id=row.job_id,
            job_name=(job.name if (job := jobs.get((row.cluster, row.job_id))) else None),
            ended=bool(job.terminal) if job else None,
            checkpoint_id=row.checkpoint_id,
            is_savepoint=row.is_savepoint,
            superseded=superseded.get(row.metadata_path, False),
        )
        for row in storages.values()
    ]
    as_of = (
        audit.as_of
        if audit
        else max((row.audit.as_of for row in storages.values() if row.audit.as_of), default=None)
    )
    return tuple(
        sorted(
            made,
            key=lambda referrer: (
                referrer.superseded,
                referrer.ended is not False,
                -(referrer.checkpoint_id or 0),
                referrer.metadata_path,
            ),
        )
    ), as_of


def reported_jobs(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], JobCurrent]:
    """By (cluster, job id).

    Where the cluster is not known, the only job of that id, if it is one.
    """
    wanted = {key for key in keys if key[1]}
    ids = {job_id for _cluster, job_id in wanted}
    fields = ("cluster", "job_id", "name", "terminal", "graph")
    rows = list(JobCurrent.objects.filter(job_id__in=ids).only(*fields))
    of_id = Counter(row.job_id for row in rows)
    jobs = {(row.cluster, row.job_id): row for row in rows}
    sole = {("", row.job_id): row for row in rows if of_id[row.job_id] == 1}
    return {key: job for key, job in (sole | jobs).items() if key in wanted}
