"""Timed-out calls between JobManager and TaskManagers by second, with the start phase at that time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webapp.analyses.starts.job_starts import Start
from webapp.fleet.models import JobAnnotation, JobCurrent, LogEvent

LOOK_BACK = timedelta(hours=1)
MOST_LINES, MOST_LOST = 5_000, 500
TIMED_OUT, NOT_FOUND = "RPC_TIMEOUT", "PARTITION_NOT_FOUND"
_TIMED = ("slots", "deploy", "restore")


@dataclass
class TroubledSecond:
    """``phase`` of the start then under way; None if no start was seen to its end."""

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
    """The hour up to ``until``: timed-out slot requests and calls about tasks, and missing
    partitions. ``seconds``: worst first. ``cut``: the log has more lines than are read.
    ``is_known``: a log of the job was read for that hour.
    """

    until: datetime
    slots: int = 0
    deployments: int = 0
    partitions: int = 0
    taskmanagers_lost: int = 0
    seconds: Sequence[TroubledSecond] = field(default_factory=tuple)
    cut: bool = False
    is_known: bool = True


def rpc_troubles(job: JobCurrent, until: datetime | None, starts: Sequence[Start]) -> RpcTroubles:
    """Two queries at most."""
    seen = job.last_seen_at or job.as_of
    until = min(until, seen) if until else seen
    # The last answer may be older than the last line.
    span = {"gte": until - LOOK_BACK, "lte": until + timedelta(minutes=1)}
    lines = LogEvent.objects.filter(
        cluster=job.cluster, job_id=job.job_id, ts__gte=span["gte"], ts__lte=span["lte"]
    )
    reported = lines.filter(
        kind__in=("slot_request_failed", "task_state"), reason__in=(TIMED_OUT, NOT_FOUND)
    ).order_by("-ts", "-id")
    columns = ("ts", "kind", "reason", "vertex_id", "vertex_name", "subtask", "attempt", "id")
    rows = list(reported.values_list(*columns)[: MOST_LINES + 1])
    if not rows:
        return RpcTroubles(until, is_known=lines.exists())
    seconds: dict[datetime, TroubledSecond] = {}
    seen_tasks: set[tuple[object, ...]] = set()

    def second(at: datetime) -> TroubledSecond:
        at = at.replace(microsecond=0)
        return seconds.setdefault(at, TroubledSecond(at, _phase(at, starts)))

    # JobManager and TaskManagers log the same task failure: the first line counts.
    for at, kind, reason, vertex_id, name, subtask, attempt, row_id in reversed(rows[:MOST_LINES]):
        task = (vertex_id or name, subtask, attempt) if kind == "task_state" else (row_id,)
        if task in seen_tasks:
            continue
        seen_tasks.add(task)
        of = second(at)
        if kind == "slot_request_failed":
            of.slots += 1
        elif reason == NOT_FOUND:
            of.partitions += 1
        else:
            of.deployments += 1
    lost = JobAnnotation.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        kind="taskmanager_lost",
        at__gte=span["gte"],
        at__lte=span["lte"],
    )
    for at in lost.order_by("-at").values_list("at", flat=True)[:MOST_LOST]:
        second(at).taskmanagers_lost += 1
    troubled = seconds.values()
    return RpcTroubles(
        until,
        slots=sum(second.slots for second in troubled),
        deployments=sum(second.deployments for second in troubled),
        partitions=sum(second.partitions for second in troubled),
        taskmanagers_lost=sum(second.taskmanagers_lost for second in troubled),
        seconds=sorted(
            troubled,
            key=lambda second: (
                -second.calls,
                -second.taskmanagers_lost,
                second.at,
            ),
        ),
        cut=len(rows) > MOST_LINES,
    )


def _phase(at: datetime, starts: Sequence[Start]) -> str | None:
    for start in starts:
        begins = start.at
        for name in _TIMED:
            phase = start.phase_of.get(name)
            ends = begins + timedelta(milliseconds=phase.duration_ms if phase else 0)
            if begins - timedelta(seconds=1) < at <= ends:
                return name
            begins = ends
    return None
