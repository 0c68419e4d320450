"""The restores of one job that were observed: the last one of each of its outages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.outages import outages
from webapp.fleet.models import JobAnnotation, JobCurrent
from webapp.lib.outage import Outage

HISTORY = timedelta(days=30)
MOST_OBSERVED = 200
MOST_LOST = 2_000
LOST_BEFORE = timedelta(minutes=2)
"""A TaskManager is reported as lost up to so long before the restart that follows: its heartbeats
have to time out.
"""
CHECKPOINT, SAVEPOINT, LOCAL = "checkpoint", "savepoint", "local"


@dataclass(frozen=True)
class ObservedRestore:
    """The last restore of one outage.

    ``restore_ms`` is its phase from the first task that reads state until all run.
    """

    at: datetime
    kind: str
    checkpoint_id: int
    restore_ms: float
    downtime_ms: float | None
    state_bytes: int | None
    lost_taskmanagers: int


def recent_outages(job: JobCurrent, until: datetime) -> list[tuple[Outage, int]]:
    """Oldest first, each with how many TaskManagers were lost."""
    start = until - HISTORY
    recent = outages(job, start, until)[-MOST_OBSERVED:]
    lost = JobAnnotation.objects.filter(
        cluster=job.cluster, job_id=job.job_id, kind="taskmanager_lost", at__gte=start - LOST_BEFORE
    )
    instants = list(lost.order_by("-at").values_list("at", flat=True)[:MOST_LOST])
    ends = [start, *(outage.until or outage.at for outage in recent)]
    return [
        (outage, _lost(outage, before, instants))
        for outage, before in zip(recent, ends, strict=False)
    ]


def observed_restores(
    job: JobCurrent, of_job: Sequence[tuple[Outage, int]], local: bool
) -> tuple[ObservedRestore, ...]:
    """Newest first."""
    facts = _facts(
        job, {outage.restored_id for outage, _dead in of_job if outage.restored_id is not None}
    )
    made = []
    for outage, dead in reversed(of_job):
        restore_ms, number = outage.part_ms["restore"], outage.restored_id
        if restore_ms is None or number is None:
            continue
        fact = facts.get(number)
        kind = (
            SAVEPOINT
            if fact is not None and fact.is_savepoint
            else LOCAL
            if local and not dead
            else CHECKPOINT
        )
        made.append(
            ObservedRestore(
                outage.at,
                kind,
                number,
                restore_ms,
                outage.downtime_ms,
                fact.state_bytes if fact else None,
                dead,
            )
        )
    return tuple(made)


def _lost(outage: Outage, before: datetime, instants: Iterable[datetime]) -> int:
    """``before``: when the outage before it ended, to which earlier losses belong.

    Instants of marks are full seconds.
    """
    since = max(outage.at - LOST_BEFORE, before.replace(microsecond=0))
    return sum(since < at <= (outage.until or outage.at) for at in instants)


def _facts(job: JobCurrent, numbers: set[int]) -> dict[int, CheckpointFact]:
    rows = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, outcome="completed", checkpoint_id__in=numbers
    )
    return {
        row.checkpoint_id: row
        for row in rows.order_by("trigger_time").only(
            "checkpoint_id", "is_savepoint", "state_bytes"
        )
    }
