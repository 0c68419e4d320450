"""The starts of one job, phase by phase, beside earlier starts of jobs of its name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median_low
from typing import Any

from django.db.models import OuterRef, Subquery

from spark_jobs.fold.starts import PARTS
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent, JobStart

SHOWN = 12
"""Starts, the newest."""
COMPARED = 60
"""Earlier starts of jobs of the name, its own among them."""


@dataclass(frozen=True)
class Phase:
    """``usual_ms``: the median of this phase at earlier starts of jobs of the name; None where none
    is known.
    """

    name: str
    duration_ms: int
    usual_ms: int | None

    @property
    def over_usual(self) -> float | None:
        return self.duration_ms / self.usual_ms if self.usual_ms else None


@dataclass(frozen=True)
class Restored:
    """A snapshot, as far as a source names it; ``path`` may be of another job."""

    checkpoint_id: int | None
    is_savepoint: bool
    path: str | None


@dataclass(frozen=True)
class Start:
    """One start of the job. ``phases``: those that it had, in order; all but detect add up to
    ``total_ms``.

    ``restored``: the snapshot that it began with, None where none was seen.

    ``output_gap_ms``: from the last completed checkpoint before it to the first one after it: so
    long sinks that commit with checkpoints showed nothing new.
    """

    at: datetime
    kind: str
    begun_at: datetime | None
    running_at: datetime
    total_ms: int | None
    usual_total_ms: int | None
    phases: Sequence[Phase]
    output_gap_ms: int | None
    first_completed_at: datetime | None
    restored: Restored | None
    restarts: int | None
    failure: str | None
    lost_taskmanagers: int | None
    tasks: int
    taskmanagers: int | None
    hosts: int | None
    stragglers: int
    held_up_ms: int
    reported_by: str
    detail: dict[str, Any]

    @property
    def downtime_ms(self) -> int | None:
        """No task of it ran: nothing was read or written."""
        return self.total_ms if self.kind != "start" else None

    @property
    def phase_of(self) -> dict[str, Phase]:
        return {phase.name: phase for phase in self.phases}

    @property
    def slowest_phase(self) -> Phase | None:
        return max(
            (phase for phase in self.phases if phase.name != "detect"),
            key=lambda phase: phase.duration_ms,
            default=None,
        )


@dataclass(frozen=True)
class JobStarts:
    """``starts`` newest first.

    ``compared``: starts of jobs of the name that are known, of ``jobs`` job ids.
    """

    starts: Sequence[Start]
    compared: int
    jobs: int

    @property
    def newest(self) -> Start | None:
        return self.starts[0] if self.starts else None


def job_starts(
    job: JobCurrent,
    since: datetime | None = None,
    until: datetime | None = None,
    shown: int = SHOWN,
) -> JobStarts:
    """Starts whose last task ran in this time. Two queries."""
    completed = CheckpointFact.objects.filter(
        cluster=job.cluster,
        job_id=OuterRef("job_id"),
        outcome="completed",
        is_savepoint=False,
        end_time__isnull=False,
    )
    after = (
        completed.filter(trigger_time__gte=OuterRef("running_at"))
        .order_by("trigger_time")
        .values("end_time")[:1]
    )
    before = (
        completed.filter(end_time__lte=OuterRef("begun_at"))
        .order_by("-trigger_time")
        .values("end_time")[:1]
    )
    own = JobStart.objects.filter(cluster=job.cluster, job_id=job.job_id)
    if since is not None:
        own = own.filter(running_at__gte=since)
    if until is not None:
        own = own.filter(running_at__lte=until)
    rows = list(
        own.annotate(
            first_completed_at=Subquery(after), last_completed_at=Subquery(before)
        ).order_by("-at")[:shown]
    )
    if not rows:
        return JobStarts((), 0, 0)
    same_name = (
        JobCurrent.objects.filter(cluster=job.cluster, name=job.name).values("job_id")
        if job.name
        else [job.job_id]
    )
    of_name = JobStart.objects.filter(
        cluster=job.cluster, job_id__in=same_name, at__lte=rows[0].at
    ).order_by("-at", "-id")
    compared = list(of_name.defer("detail")[:COMPARED])
    return JobStarts(
        [_start(row, [start for start in compared if start.at < row.at]) for row in rows],
        len(compared),
        len({start.job_id for start in compared}),
    )


def _start(row: Any, earlier: Sequence[JobStart]) -> Start:
    durations = {name: getattr(row, f"{name}_ms") for name in PARTS}
    gap = (
        row.first_completed_at
        and row.last_completed_at
        and row.first_completed_at - row.last_completed_at
    )
    return Start(
        at=row.at,
        kind=row.kind,
        begun_at=row.begun_at,
        running_at=row.running_at,
        total_ms=row.total_ms,
        usual_total_ms=_median(earlier, "total"),
        phases=[
            Phase(name, value, _median(earlier, name))
            for name, value in durations.items()
            if value is not None
        ],
        output_gap_ms=round(gap.total_seconds() * 1000) if gap else None,
        first_completed_at=row.first_completed_at,
        restored=_restored(row),
        **{
            name: getattr(row, name)
            for name in (
                "restarts",
                "failure",
                "lost_taskmanagers",
                "tasks",
                "taskmanagers",
                "hosts",
                "stragglers",
                "held_up_ms",
                "reported_by",
                "detail",
            )
        },
    )


def _restored(row: Any) -> Restored | None:
    if row.restored_checkpoint_id is None and row.restored_path is None:
        return None
    return Restored(row.restored_checkpoint_id, bool(row.restored_is_savepoint), row.restored_path)


def _median(earlier: Sequence[JobStart], name: str) -> int | None:
    known = [value for start in earlier if (value := getattr(start, f"{name}_ms")) is not None]
    return median_low(known) if known else None
