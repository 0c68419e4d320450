"""The restores of one job that were observed, as its starts have them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from webapp.analyses.starts.job_starts import Restored, job_starts
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.outages import outages
from webapp.fleet.models import JobCurrent, JobStart
from webapp.lib.outage import Outage

HISTORY = timedelta(days=30)
MOST_OBSERVED = 200
DATED_WITHIN = timedelta(seconds=1)
"""REST and the log date one restart apart."""
_OF_JOB = re.compile(r"/([0-9a-f]{32})/chk-\d+")
CHECKPOINT, SAVEPOINT, LOCAL = "checkpoint", "savepoint", "local"


@dataclass(frozen=True)
class ObservedRestore:
    """The restore of a start, the last one where it took several restarts.

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
    lost = JobStart.objects.filter(
        cluster=job.cluster, job_id=job.job_id, begun_at__gte=start, lost_taskmanagers__gt=0
    )
    losses = [
        (one.begun_at, one.lost_taskmanagers or 0)
        for one in lost.only("begun_at", "lost_taskmanagers").order_by("-at")[:MOST_OBSERVED]
    ]
    return [
        (outage, sum(dead for at, dead in losses if at and abs(at - outage.at) < DATED_WITHIN))
        for outage in recent
    ]


def observed_restores(job: JobCurrent, local: bool, until: datetime) -> tuple[ObservedRestore, ...]:
    """Of the starts that have one with its phase, newest first."""
    starts = [
        (start, start.restored, start.phase_of["restore"].duration_ms)
        for start in job_starts(job, until - HISTORY, until, MOST_OBSERVED).starts
        if start.restored is not None and "restore" in start.phase_of
    ]
    sizes = _sizes(job, [snapshot for _, snapshot, _ in starts])
    return tuple(
        ObservedRestore(
            start.begun_at or start.at,
            SAVEPOINT
            if snapshot.is_savepoint
            else LOCAL
            if local and start.kind != "start" and not start.lost_taskmanagers
            else CHECKPOINT,
            snapshot.checkpoint_id,
            restore_ms,
            start.downtime_ms,
            sizes.get(snapshot),
            start.lost_taskmanagers or 0,
        )
        for start, snapshot, restore_ms in starts
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
