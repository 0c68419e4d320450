from dataclasses import dataclass
from datetime import datetime

from webapp.fleet.models import JobCurrent
from webapp.lib.badges import Badge
from webapp.replication.models import Replica


@dataclass(frozen=True)
class JobReplication:
    """``lag_ms``: time from the trigger of the copied checkpoint to ``at``, which a job restored
    from the copy would repeat. None without a complete copy or if the trigger is unknown.
    """

    replica: Replica
    at: datetime

    @property
    def lag_ms(self) -> int | None:
        since = self.replica.triggered_at
        return None if since is None else max(0, round((self.at - since).total_seconds() * 1000))

    @property
    def badge(self) -> Badge:
        if self.replica.checkpoint_id is None:
            return Badge("no copy yet", "?", "unknown")
        if self.replica.trouble:
            return Badge("last try failed", "◆", "warn")
        return (
            Badge("complete", "●", "ok") if self.replica.enabled else Badge("stopped", "■", "done")
        )


def job_replication(job: JobCurrent, now: datetime) -> JobReplication | None:
    """None if no copy was requested. The lag does not grow after the end of the job."""
    replica = Replica.objects.filter(**job.identity).first()
    if replica is None:
        return None
    return JobReplication(replica, min(now, job.end_time) if job.end_time else now)
