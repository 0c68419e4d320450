"""The starts of a job by phase, compared with earlier starts of jobs of its name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from statistics import median_low
from typing import Any

from django.db.models import Min, OuterRef, Q, Subquery

from spark_jobs.fold.starts import PARTS
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent, JobStart, LogEvent
from webapp.lib.instants import drawable

MOST_STARTS = 12
MOST_COMPARED = 60
"""Earlier starts of this job and of other jobs of its name."""


@dataclass(frozen=True)
class Phase:
    """``usual_ms``: the median of earlier starts of jobs of this name; None if unknown."""

    name: str
    duration_ms: int
    usual_ms: int | None

    @property
    def over_usual(self) -> float | None:
        return self.duration_ms / self.usual_ms if self.usual_ms else None


@dataclass(frozen=True)
class Restored:
    """A snapshot from which a job started; ``path`` may be of another job."""

    checkpoint_id: int | None
    is_savepoint: bool
    path: str | None


@dataclass(frozen=True)
class Start:
    """A start of the job. ``phases`` by time; all but detect add up to ``total_ms``.

    ``restored``: None if no snapshot was seen. ``output_gap_ms``: from the last completed checkpoint
    before the start to the first one after it; sinks that commit with checkpoints had no output.
    """

    at: datetime
    kind: str
    begun_at: datetime | None
    running_at: datetime
    total_ms: int | None
    usual_total_ms: int | None
    phases: Sequence[Phase]
    output_gap_ms: int | None
    restored: Restored | None
    failure: str | None
    lost_taskmanagers: int | None
    tasks: int
    stragglers: int
    held_up_ms: int
    reported_by: str
    detail: dict[str, Any]

    @property
    def downtime_ms(self) -> int | None:
        """How long no task ran, so that nothing was read or written."""
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
    """``starts``: newest first. ``compared``: number of starts of ``jobs`` jobs of this name."""

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
    most: int = MOST_STARTS,
) -> JobStarts:
    """Starts whose last task ran in this time."""
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
    own_starts = JobStart.objects.filter(**job.identity)
    if since is not None:
        own_starts = own_starts.filter(running_at__gte=since)
    if until is not None:
        own_starts = own_starts.filter(running_at__lte=until)
    rows = list(
        own_starts.annotate(
            first_completed_at=Subquery(after), last_completed_at=Subquery(before)
        ).order_by("-at")[:most]
    )
    if not rows:
        return JobStarts((), 0, 0)
    job_ids = (
        JobCurrent.objects.filter(cluster=job.cluster, name=job.name).values("job_id")
        if job.name
        else [job.job_id]
    )
    name_starts = JobStart.objects.filter(
        cluster=job.cluster, job_id__in=job_ids, at__lte=rows[0].at
    ).order_by("-at", "-id")
    compared = list(name_starts.defer("detail")[:MOST_COMPARED])
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
        usual_total_ms=_median(earlier, "total"),
        phases=[
            Phase(name, value, _median(earlier, name))
            for name, value in durations.items()
            if value is not None
        ],
        output_gap_ms=round(gap.total_seconds() * 1000) if gap else None,
        restored=_restored_of(row),
        **{
            name: getattr(row, name)
            for name in (
                "at",
                "kind",
                "begun_at",
                "running_at",
                "total_ms",
                "failure",
                "lost_taskmanagers",
                "tasks",
                "stragglers",
                "held_up_ms",
                "reported_by",
                "detail",
            )
        },
    )


def _restored_of(row: Any) -> Restored | None:
    if row.restored_checkpoint_id is None and row.restored_path is None:
        return None
    return Restored(row.restored_checkpoint_id, bool(row.restored_is_savepoint), row.restored_path)


def _median(earlier: Sequence[JobStart], name: str) -> int | None:
    values = (getattr(start, f"{name}_ms") for start in earlier)
    durations = [value for value in values if value is not None]
    return median_low(durations) if durations else None


MOST_LINES = 5_000
CLOCKS_APART = timedelta(seconds=2)
"""Clocks of TaskManagers may differ from the JobManager's."""
_TYPES = ("high-availability.type", "high-availability")


@dataclass(frozen=True)
class Download:
    """``process``: a TaskManager's log. ``at_most_ms``: until its first task was deployed."""

    process: str
    at: datetime
    files: int
    at_most_ms: int | None


@dataclass(frozen=True)
class JarDownloads:
    """Downloads, longest first, of the newest start that has downloads, else of the newest start.
    If no start was seen to its end: all logged downloads; ``at`` is that of the first.
    """

    at: datetime | None
    high_availability: bool | None
    files: int
    downloads: Sequence[Download]


def jar_downloads(job: JobCurrent, starts: JobStarts, until: datetime) -> JarDownloads:
    lines = _lines(job, starts.starts, until)
    start = next(
        (start for start in starts.starts if any(_is_during(start, at) for _, at, _ in lines)),
        starts.newest,
    )
    files_by_process: dict[str, list[tuple[datetime, str]]] = {}
    for process, at, path in lines:
        if start is None or _is_during(start, at):
            files_by_process.setdefault(process, []).append((at, path))
    deployed_at = _deployed(job, start, files_by_process) if start and files_by_process else {}
    downloads = [
        _download(process, files, deployed_at.get(process))
        for process, files in files_by_process.items()
    ]
    return JarDownloads(
        start.at if start else min((at for _, at, _ in lines), default=None),
        high_availability(job),
        len({path for files in files_by_process.values() for _, path in files}),
        sorted(downloads, key=lambda download: (-(download.at_most_ms or 0), download.process)),
    )


def high_availability(job: JobCurrent) -> bool | None:
    """Whether high availability is configured; None if unknown. Flink's default is off."""
    if not job.configuration:
        return None
    value = next(
        (str(job.configuration[key]) for key in _TYPES if job.configuration.get(key)), "NONE"
    )
    return value.upper() != "NONE"


def _lines(
    job: JobCurrent, starts: Sequence[Start], until: datetime
) -> list[tuple[str, datetime, str]]:
    spans = [Q(ts__gte=begin, ts__lte=end) for begin, end in map(_span, starts)]
    during = reduce(or_, spans) if spans else Q(ts__lte=until)
    log_events = LogEvent.objects.filter(during, **job.identity, kind="blob_download").order_by(
        "-ts"
    )
    return [
        (process, at, str((fields or {}).get("path") or ""))
        for process, at, fields in log_events.values_list("process", "ts", "fields")[:MOST_LINES]
    ]


def _deployed(
    job: JobCurrent, start: Start, files_by_process: dict[str, list[tuple[datetime, str]]]
) -> dict[str, datetime]:
    begin, end = _span(start)
    first = min(at for files in files_by_process.values() for at, _ in files)
    tasks = LogEvent.objects.filter(
        **job.identity,
        kind="task_state",
        reason="DEPLOYING -> INITIALIZING",
        ts__gte=max(begin, first),
        ts__lte=end,
    )
    return dict(
        tasks.order_by().values("process").annotate(first=Min("ts")).values_list("process", "first")
    )


def _download(
    process: str, files: Sequence[tuple[datetime, str]], deployed_at: datetime | None
) -> Download:
    at = min(begun for begun, _ in files)
    at_most_ms = (
        None
        if deployed_at is None or deployed_at < at
        else round((deployed_at - at).total_seconds() * 1000)
    )
    return Download(process, at, len({path for _, path in files}), at_most_ms)


def _span(start: Start) -> tuple[datetime, datetime]:
    begin, end = drawable(start.begun_at or start.at), drawable(start.running_at)
    return begin - CLOCKS_APART, end + CLOCKS_APART


def _is_during(start: Start, at: datetime) -> bool:
    begin, end = _span(start)
    return begin <= at <= end
