"""The placement of a job for whoever asks: read, simulated, and kept for a moment, since a large plan takes seconds."""

import hashlib
import logging
from dataclasses import fields
from datetime import datetime, timedelta

from django.core.cache import cache

from webapp.fleet.models import JobCurrent
from webapp.placement.job_placement import LARGEST_READ, HostLoad, JobPlacement, Outcome, TaskManagerLoad, VertexSpread, placement_of
from webapp.placement.job_plan import plan_of
from webapp.placement.samples import Sampled, read_samples

log = logging.getLogger(__name__)

KEPT = timedelta(minutes=5)
STEP = timedelta(seconds=30)
"""Instants asked for within this time have one answer."""
_SHAPE = [[field.name for field in fields(part)] for part in (JobPlacement, Outcome, TaskManagerLoad, HostLoad, VertexSpread)]
"""What an earlier version kept is not read by one whose fields differ."""


def look_up_placement(job: JobCurrent, until: datetime | None = None) -> JobPlacement | None:
    """As of the last minutes in which the job was seen, up to ``until``; None where the plan is not known.

    A lake that cannot be read makes only the present unknown.
    """
    at = job.last_seen_at or job.as_of
    at = min(at, until) if until else at
    at = datetime.fromtimestamp(-(-at.timestamp() // STEP.total_seconds()) * STEP.total_seconds(), at.tzinfo)
    key = "placement:" + hashlib.sha256(repr((_SHAPE, job.cluster, job.job_id, job.as_of, at)).encode()).hexdigest()
    kept = cache.get(key)
    if isinstance(kept, JobPlacement):
        return kept
    plan = plan_of(job)
    if plan is None:
        return None
    try:
        sampled = read_samples(job.cluster, job.job_id, plan.tasks, at) if plan.tasks <= LARGEST_READ else Sampled()
    except Exception:  # The lake may be any storage, with any error; the plan is in the database.
        log.exception("Samples of %s on %s could not be read from the lake", job.job_id, job.cluster)
        return placement_of(job, plan, Sampled())
    found = placement_of(job, plan, sampled)
    cache.set(key, found, KEPT.total_seconds())
    return found
