"""The copy of one job's checkpoints and its lag. Plain data for page, API and command."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from webapp.fleet.models import JobCurrent
from webapp.lib.badges import Badge
from webapp.replication.models import Replica, ReplicaRound

ROUNDS_SHOWN = 200


@dataclass(frozen=True)
class JobReplication:
    """``lag_ms``: from the trigger of the copied checkpoint to ``at``, which a restore would have
    to repeat. None if there is no complete copy, or its trigger is unknown. ``rounds``: newest
    first.
    """

    replica: Replica
    at: datetime
    rounds: Sequence[ReplicaRound]

    @property
    def lag_ms(self) -> int | None:
        since = self.replica.triggered_at
        return None if since is None else max(0, round((self.at - since).total_seconds() * 1000))

    @property
    def badge(self) -> Badge:
        if self.replica.checkpoint_id is None:
            return Badge(gettext("no copy yet"), "?", "unknown")
        if self.replica.trouble:
            return Badge(gettext("last try failed"), "◆", "warn")
        return (
            Badge(gettext("complete"), "●", "ok")
            if self.replica.enabled
            else Badge(gettext("stopped"), "■", "done")
        )

    def sawtooth(self) -> list[tuple[datetime, float]]:
        """(instant, lag in s), oldest first: it grows by a second per second, and falls when a
        newer copy is complete.
        """
        points: list[tuple[datetime, float]] = []
        before: datetime | None = None
        for replica_round in reversed(self.rounds):
            points += [
                (replica_round.completed_at, (replica_round.completed_at - since).total_seconds())
                for since in (before, replica_round.triggered_at)
                if since
            ]
            before = replica_round.triggered_at
        if before and self.lag_ms is not None:
            points.append((self.at, self.lag_ms / 1000))
        return points


def job_replication(job: JobCurrent, now: datetime) -> JobReplication | None:
    """None if no copy was requested. The lag of an ended job stays."""
    replica = Replica.objects.filter(cluster=job.cluster, job_id=job.job_id).first()
    if replica is None:
        return None
    return JobReplication(
        replica,
        min(now, job.end_time) if job.end_time else now,
        list(replica.rounds.all()[:ROUNDS_SHOWN]),
    )
