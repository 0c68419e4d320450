from collections.abc import Sequence
from typing import Any

from webapp.checkpoints.querysets import state_trends
from webapp.findings.health_trends import health_trends
from webapp.findings.reasons import reasons
from webapp.fleet.badges import job_badge
from webapp.lib.timeranges import TimeRange


def job_rows(jobs: Sequence[Any], time_range: TimeRange) -> list[tuple[Any, ...]]:
    """Job, badges of its status and health, reason, trends of health and state. ``jobs``: with their
    status.
    """
    span = time_range.from_time, time_range.to_time
    why, healths, sizes = reasons(jobs), health_trends(jobs, *span), state_trends(jobs, *span)
    return [
        (
            job,
            job_badge(job.status),
            job.health_badge,
            why.get(job.key),
            healths.get(job.key),
            sizes.get(job.key),
        )
        for job in jobs
    ]
