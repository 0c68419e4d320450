"""Size of the state of the jobs of a page over time, by hour or by day."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.models import JobCurrent

BY_DAY_FROM = timedelta(days=4)
_PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


def state_trends(
    jobs: Sequence[JobCurrent], start: datetime, end: datetime
) -> dict[tuple[str, str], list[tuple[float, int]]]:
    """(cluster, job id) → place in the time 0 … 1 and bytes, oldest first. One query."""
    period = "day" if end - start >= BY_DAY_FROM else "hour"
    rows = CheckpointRollup.objects.filter(
        cluster__in={job.cluster for job in jobs},
        job_id__in=[job.job_id for job in jobs],
        period=period,
        period_start__gt=start - _PERIODS[period],
        period_start__lte=end,
    ).values_list("cluster", "job_id", "period_start", "state_bytes_last")
    points: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for cluster, job_id, at, size in rows.order_by("period_start"):
        if size is None:
            continue
        place = (at + _PERIODS[period] - start) / (end - start)
        points.setdefault((cluster, job_id), []).append((min(max(place, 0.0), 1.0), size))
    return points
