"""Days of the jobs that a chart names, read from what their figures were made of."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from webapp.checkpoints.models import CheckpointRollup
from webapp.growth.models import JobGrowth, StoredDay
from webapp.growth.trends import filled, total

COLUMN = {"state": "state_bytes_last", "uploaded": "checkpointed_bytes_sum"}


def series_of(
    jobs: Sequence[JobGrowth], kind: str, window: int, now: datetime
) -> list[dict[int, float]]:
    """``kind``: state, uploaded or unreferenced; of each job its days, under all its ids.

    One query.
    """
    since = now.astimezone(UTC) - timedelta(days=window)
    ids = [job_id for job in jobs for job_id in job.attempts]
    clusters = {job.cluster for job in jobs}
    if kind == "unreferenced":
        audited = StoredDay.objects.filter(
            cluster__in=clusters, job_id__in=ids, day__gt=since.date()
        )
        rows = list(audited.values_list("cluster", "job_id", "day", "unreferenced_bytes"))
    else:
        rolled = CheckpointRollup.objects.filter(
            cluster__in=clusters, job_id__in=ids, period="day", period_start__gt=since
        )
        sums = rolled.values_list("cluster", "job_id", "period_start", COLUMN[kind])
        rows = [
            (cluster, job_id, start.astimezone(UTC).date(), value)
            for cluster, job_id, start, value in sums
        ]
    of_id: dict[tuple[str, str], dict[int, float]] = {}
    for cluster, job_id, day, value in rows:
        if value is not None:
            of_id.setdefault((cluster, job_id), {})[day.toordinal()] = value
    return [
        _joined([of_id.get((job.cluster, job_id), {}) for job_id in job.attempts], kind, job, now)
        for job in jobs
    ]


def _joined(
    attempts: Sequence[dict[int, float]], kind: str, job: JobGrowth, now: datetime
) -> dict[int, float]:
    if kind != "state":
        return total(attempts)
    joined: dict[int, float] = {}
    for attempt in reversed(attempts):
        joined |= attempt
    return filled(joined, 0 if job.ended else now.astimezone(UTC).toordinal())
