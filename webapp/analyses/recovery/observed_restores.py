"""The restores of one job that were observed: the last one of each of its outages, and those of
starts that no outage has with its phases, as the job's first one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from webapp.analyses.starts.job_starts import Restored, job_starts
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
DATED_WITHIN = timedelta(seconds=1)
"""Marks are dated to the full second."""
_OF_JOB = re.compile(r"/([0-9a-f]{32})/chk-\d+")
CHECKPOINT, SAVEPOINT, LOCAL = "checkpoint", "savepoint", "local"


@dataclass(frozen=True)
class ObservedRestore:
    """The last restore of one outage, or that of a start.

    ``restore_ms`` is its phase from the first task that reads state until all run. ``checkpoint_id``
    is None where nothing names it.
    """

    at: datetime
    kind: str
    checkpoint_id: int | None
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
    job: JobCurrent, of_job: Sequence[tuple[Outage, int]], local: bool, until: datetime
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
    made += _of_starts(job, of_job, local, until)
    return tuple(sorted(made, key=lambda restore: restore.at, reverse=True))


def _of_starts(
    job: JobCurrent, of_job: Sequence[tuple[Outage, int]], local: bool, until: datetime
) -> Iterator[ObservedRestore]:
    starts = [
        start
        for start in job_starts(job, until - HISTORY, until, MOST_OBSERVED).starts
        if start.restored is not None and "restore" in start.phase_of
    ]
    sizes = _sizes(job, [start.restored for start in starts if start.restored])
    for start in starts:
        outage, dead = next(
            (
                (outage, dead)
                for outage, dead in reversed(of_job)
                if outage.at - DATED_WITHIN
                <= start.running_at
                <= (outage.until or start.running_at) + DATED_WITHIN
            ),
            (None, 0),
        )
        if start.restored is None or (outage and outage.part_ms["restore"] is not None):
            continue
        is_local = local and start.kind != "start" and not dead
        yield ObservedRestore(
            outage.at if outage else start.begun_at or start.at,
            SAVEPOINT if start.restored.is_savepoint else LOCAL if is_local else CHECKPOINT,
            start.restored.checkpoint_id,
            start.phase_of["restore"].duration_ms,
            start.downtime_ms,
            sizes.get(start.restored),
            dead,
        )


def _sizes(job: JobCurrent, snapshots: Iterable[Restored]) -> dict[Restored, int | None]:
    """Of those whose id is known: a path may name the job that took it. One query."""
    owners = {
        snapshot: (match[1] if (match := _OF_JOB.search(snapshot.path or "")) else job.job_id)
        for snapshot in snapshots
        if snapshot.checkpoint_id is not None
    }
    rows = CheckpointFact.objects.filter(
        cluster=job.cluster,
        job_id__in=set(owners.values()),
        outcome="completed",
        checkpoint_id__in={snapshot.checkpoint_id for snapshot in owners},
    ).order_by("trigger_time")
    sizes: dict[tuple[str, int | None], int | None] = {
        (job_id, number): size
        for job_id, number, size in rows.values_list("job_id", "checkpoint_id", "state_bytes")
    }
    return {
        snapshot: sizes.get((owner, snapshot.checkpoint_id)) for snapshot, owner in owners.items()
    }


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
