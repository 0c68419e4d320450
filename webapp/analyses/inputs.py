"""The inputs of analyses. Ranges end when a job was last seen, at a root's newest audit, or now."""

from django.utils import timezone

from webapp.analyses.document import Inputs
from webapp.fleet.job_lookup import whole_life
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.storage.models import RootFigures


def inputs_for_job(job: JobCurrent, parameters: ListFilters) -> Inputs:
    """The range is the job's whole life; pages have their own range instead."""
    at = job.last_seen_at or job.as_of
    return Inputs(whole_life(job, at).from_time, at, timezone.now(), parameters)


def inputs_for_root(figures: RootFigures, parameters: ListFilters) -> Inputs:
    return Inputs(figures.as_of, figures.as_of, timezone.now(), parameters)


def inputs_for_fleet(parameters: ListFilters) -> Inputs:
    now = timezone.now()
    return Inputs(now, now, now, parameters)
