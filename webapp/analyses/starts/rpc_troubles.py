"""Timed-out calls between JobManager and TaskManagers by second, with the phase of the start."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from webapp.analyses.starts.job_starts import Start
from webapp.fleet.models import JobAnnotation, JobCurrent, LogEvent

LOOK_BACK = timedelta(hours=1)
MOST_LINES, MOST_LOST = 5_000, 500
TIMED_OUT, NOT_FOUND = "RPC_TIMEOUT", "PARTITION_NOT_FOUND"
_PHASES = ("slots", "deploy", "restore")


@dataclass
class TroubledSecond:
    """``phase`` of the start at this time; None if there was no start, or its end was not seen."""

    at: datetime
    phase: str | None
    slots: int = 0
    deployments: int = 0
    partitions: int = 0
    taskmanagers_lost: int = 0

    @property
    def calls(self) -> int:
        return self.slots + self.deployments + self.partitions


@dataclass(frozen=True)
class RpcTroubles:
    """Timed-out calls and missing partitions in an hour. ``seconds``: worst first. ``cut``: lines
    were left out. ``is_known``: a log was read for the hour.
    """

    seconds: Sequence[TroubledSecond] = ()
    cut: bool = False
    is_known: bool = True

    @property
    def totals(self) -> dict[str, int]:
        names = ("slots", "deployments", "partitions", "taskmanagers_lost")
        return {name: sum(getattr(second, name) for second in self.seconds) for name in names}


def rpc_troubles(job: JobCurrent, until: datetime | None, starts: Sequence[Start]) -> RpcTroubles:
    last_seen = job.last_seen_at or job.as_of
    until = min(until, last_seen) if until else last_seen
    # Log lines may be newer than the last answer of REST.
    start, end = until - LOOK_BACK, until + timedelta(minutes=1)
    lines = LogEvent.objects.filter(**job.identity, ts__gte=start, ts__lte=end)
    reported = lines.filter(
        kind__in=("slot_request_failed", "task_state"), reason__in=(TIMED_OUT, NOT_FOUND)
    ).order_by("-ts", "-id")
    columns = ("ts", "kind", "reason", "vertex_id", "vertex_name", "subtask", "attempt", "id")
    rows = list(reported.values_list(*columns)[: MOST_LINES + 1])
    if not rows:
        return RpcTroubles(is_known=lines.exists())
    seconds: dict[datetime, TroubledSecond] = {}
    seen_tasks: set[tuple[object, ...]] = set()

    def second_of(at: datetime) -> TroubledSecond:
        at = at.replace(microsecond=0)
        return seconds.setdefault(at, TroubledSecond(at, _phase(at, starts)))

    # JobManager and TaskManagers log the same task failure: the first line counts.
    for at, kind, reason, vertex_id, name, subtask, attempt, row_id in reversed(rows[:MOST_LINES]):
        task = (vertex_id or name, subtask, attempt) if kind == "task_state" else (row_id,)
        if task in seen_tasks:
            continue
        seen_tasks.add(task)
        if kind == "slot_request_failed":
            second_of(at).slots += 1
        elif reason == NOT_FOUND:
            second_of(at).partitions += 1
        else:
            second_of(at).deployments += 1
    losses = JobAnnotation.objects.filter(
        **job.identity, kind="taskmanager_lost", at__gte=start, at__lte=end
    )
    for at in losses.order_by("-at").values_list("at", flat=True)[:MOST_LOST]:
        second_of(at).taskmanagers_lost += 1
    worst_first = sorted(
        seconds.values(), key=lambda second: (-second.calls, -second.taskmanagers_lost, second.at)
    )
    return RpcTroubles(worst_first, cut=len(rows) > MOST_LINES)


def _phase(at: datetime, starts: Sequence[Start]) -> str | None:
    for start in starts:
        begin = start.at
        for name in _PHASES:
            phase = start.phase_of.get(name)
            end = begin + timedelta(milliseconds=phase.duration_ms if phase else 0)
            if begin - timedelta(seconds=1) < at <= end:
                return name
            begin = end
    return None
