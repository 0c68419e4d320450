"""Finds snapshots of one audit that Flink will not delete: savepoints, and checkpoints of ended
jobs.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.metadata.owners import owner_directory
from webapp.fleet.models import JobCurrent
from webapp.lib.storage_uris import canonical_or_none
from webapp.storage.models import ChainLink, CheckpointStorage, JobStorage, RootFigures

MOST_ROWS = 500
MOST_JOBS = 5_000
NEEDED, SUPERSEDED, LAST, UNKNOWN = "needed", "superseded", "last", "unknown"


@dataclass(frozen=True)
class KeptSavepoint:
    """``standing``: needed (a job that has not ended was restored from the savepoint), superseded
    (its job has a newer complete snapshot), last (its job has none), unknown (its job is unknown).
    ``needed_by``: ids of the jobs that need it.
    """

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
    """Checkpoints of an ended job, which Flink no longer deletes. ``needed_by``: ids of jobs that
    were restored from them or whose snapshots refer to their files.
    """

    directory: str
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


def kept_savepoints(figures: RootFigures) -> tuple[KeptSavepoint, ...]:
    """The savepoints of one root in one audit, oldest first."""
    rows = list(
        CheckpointStorage.objects.filter(
            audit=figures.audit, root=figures.root, is_savepoint=True
        ).order_by("modified", "id")[:MOST_ROWS]
    )
    restored_jobs = _restored_jobs()
    newest_complete = _newest_complete(figures, {row.job_id for row in rows if row.job_id})
    savepoints = []
    for row in rows:
        needed_by = tuple(restored_jobs.get(row.metadata_path.rpartition("/")[0], ()))
        savepoints.append(
            KeptSavepoint(
                row.metadata_path,
                row.cluster,
                row.job_id,
                row.checkpoint_id,
                row.modified,
                age_ms(figures.as_of, row.modified),
                row.files,
                row.bytes,
                NEEDED if needed_by else _standing(row, newest_complete),
                needed_by,
            )
        )
    return tuple(savepoints)


def _standing(row: CheckpointStorage, newest_complete: dict[tuple[str, str], datetime]) -> str:
    if not row.job_id:
        return UNKNOWN
    newest_at = newest_complete.get((row.cluster, row.job_id))
    return SUPERSEDED if newest_at and row.modified and newest_at > row.modified else LAST


def ended_jobs(figures: RootFigures) -> tuple[EndedJob, ...]:
    """Ended jobs with live files in the root, longest idle first."""
    rows = JobStorage.objects.filter(
        audit=figures.audit, root=figures.root, terminal=True, checkpoints__gt=0, live_files__gt=0
    )
    storages = list(rows.order_by("newest_modified", "id")[:MOST_ROWS])
    ids = [row.job_id for row in storages]
    directories = {row.directory for row in storages}
    links = ChainLink.objects.filter(
        audit=figures.audit, kind="refers", other_directory__in=directories
    ).values_list("other_directory", "job_id")
    needed_by = defaultdict(set)
    for directory, job_id in links:
        needed_by[directory].add(job_id)
    for snapshot, job_ids in _restored_jobs().items():
        if (directory := owner_directory(snapshot)) in directories:
            needed_by[directory] |= set(job_ids)
    states = {
        job.key: job.state
        for job in JobCurrent.objects.filter(job_id__in=ids).only("cluster", "job_id", "state")
    }
    return tuple(
        EndedJob(
            directory=row.directory,
            cluster=row.cluster,
            job_id=row.job_id,
            name=row.job_name,
            state=states.get((row.cluster, row.job_id)),
            last_written=row.newest_modified,
            idle_ms=age_ms(figures.as_of, row.newest_modified),
            checkpoints=row.checkpoints,
            files=row.live_files,
            bytes=row.live_bytes,
            standing=NEEDED if needed_by[row.directory] else LAST,
            needed_by=tuple(sorted(needed_by[row.directory])),
        )
        for row in storages
    )


def _restored_jobs() -> dict[str, list[str]]:
    """Directory of a snapshot → ids of the jobs that were restored from it and have not ended."""
    job_ids: dict[str, list[str]] = defaultdict(list)
    rows = (
        JobCurrent.objects.exclude(terminal=True)
        .exclude(restored_path=None)
        .order_by("-as_of", "-id")
    )
    for job_id, path in rows.values_list("job_id", "restored_path")[:MOST_JOBS]:
        if snapshot := canonical_or_none(path):
            job_ids[snapshot.removesuffix("/_metadata")].append(job_id)
    return job_ids


def _newest_complete(figures: RootFigures, ids: set[str]) -> dict[tuple[str, str], datetime]:
    """(cluster, job id) → when the job's newest snapshot without missing files was written."""
    rows = CheckpointStorage.objects.filter(
        audit=figures.audit, job_id__in=ids, missing_files=0, modified__isnull=False
    )
    instants: dict[tuple[str, str], datetime] = {}
    for cluster, job_id, at in (
        rows.order_by("modified").values_list("cluster", "job_id", "modified").iterator(2_000)
    ):
        if at is not None:
            instants[cluster, job_id] = at
    return instants


def age_ms(as_of: datetime, at: datetime | None) -> float | None:
    return None if at is None else (as_of - at) / timedelta(milliseconds=1)
