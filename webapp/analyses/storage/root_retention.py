"""What a root keeps because nobody deletes it: savepoints by age, checkpoints of ended jobs, what
jobs that run retain, and how old a file may be that is still needed. Of one audit; bounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.messages import message
from webapp.analyses.storage.oldest_files import oldest_files
from webapp.fleet.models import JobCurrent
from webapp.storage.idle_snapshots import (
    MOST_ROWS,
    EndedJob,
    KeptSavepoint,
    age_ms,
    ended_jobs,
    kept_savepoints,
)
from webapp.storage.models import JobStorage, RootFigures

RETAINED_SETTINGS = ("execution.checkpointing.num-retained", "state.checkpoints.num-retained")


@dataclass(frozen=True)
class RunningJob:
    """``oldest_file``: when the oldest file was written that its snapshots refer to; None where the
    lists of the audit do not say.
    """

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
    """``unsafe_age_ms``: deleting what is older than less than this breaks a snapshot of a job that
    has not ended.
    """

    savepoints: tuple[KeptSavepoint, ...]
    ended: tuple[EndedJob, ...]
    running: tuple[RunningJob, ...]
    unsafe_age_ms: float | None
    unknown: tuple[str, ...]


def root_retention(figures: RootFigures) -> Retention:
    """Seven queries, and the lists of an audit once a day."""
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
        (job.cluster, job.job_id): job
        for job in JobCurrent.objects.filter(job_id__in=[row.job_id for row in storages]).only(
            *fields
        )
    }
    made = []
    for row in storages:
        job = jobs.get((row.cluster, row.job_id))
        config: Mapping[str, Any] = (job.checkpoint_config if job else None) or {}
        written = oldest.get(row.directory)
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
                oldest_file_age_ms=age_ms(figures.as_of, written),
            )
        )
    return tuple(made)


def _retained(configuration: Mapping[str, Any]) -> int | None:
    setting = next(
        (str(configuration[key]) for key in RETAINED_SETTINGS if configuration.get(key)), ""
    )
    if setting.isascii() and setting.isdigit():
        return int(setting[:6])
    return 1 if configuration and not setting else None
