"""The placement of a job for whoever asks: read, simulated, and kept for a moment, since a large
plan takes seconds.
"""

import logging
from datetime import datetime

from django.core.cache import cache

from webapp.analyses.placement.job_placement import (
    HostLoad,
    JobPlacement,
    Outcome,
    TaskManagerLoad,
    VertexSpread,
    placement_of,
)
from webapp.fleet.job_plan import plan_of
from webapp.fleet.models import JobCurrent
from webapp.fleet.task_samples import LARGEST_READ, Sampled, read_samples
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step

log = logging.getLogger(__name__)

_MADE_OF = (JobPlacement, Outcome, TaskManagerLoad, HostLoad, VertexSpread)


def look_up_placement(job: JobCurrent, until: datetime | None = None) -> JobPlacement | None:
    """As of the last minutes in which the job was seen, up to ``until``; None where the plan is not
    known.

    A lake that cannot be read makes only the present unknown.
    """
    at = job.last_seen_at or job.as_of
    at = end_of_step(min(at, until) if until else at)
    key = answer_key("placement", _MADE_OF, job.cluster, job.job_id, job.as_of, at)
    kept = cache.get(key)
    if isinstance(kept, JobPlacement):
        return kept
    plan = plan_of(job)
    if plan is None:
        return None
    try:
        sampled = (
            read_samples(job.cluster, job.job_id, plan.tasks, at)
            if plan.tasks <= LARGEST_READ
            else Sampled()
        )
    except Exception:  # The lake may be any storage, with any error; the plan is in the database.
        log.exception(
            "Samples of %s on %s could not be read from the lake", job.job_id, job.cluster
        )
        return placement_of(job, plan, Sampled())
    placement = placement_of(job, plan, sampled)
    cache.set(key, placement, KEPT_S)
    return placement
