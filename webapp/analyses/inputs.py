"""The time range of an analysis: of a job up to when it was last seen, of a root at its newest
audit, of the fleet now.
"""

from django.utils import timezone

from webapp.analyses.document import Asked
from webapp.fleet.job_lookup import whole_life
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.storage.models import RootFigures


def asked_of_job(job: JobCurrent, parameters: ListFilters) -> Asked:
    """The whole life of the job."""
    at = job.last_seen_at or job.as_of
    return Asked(whole_life(job, at).from_time, at, timezone.now(), parameters)


def asked_of_root(figures: RootFigures, parameters: ListFilters) -> Asked:
    return Asked(figures.as_of, figures.as_of, timezone.now(), parameters)


def asked_of_fleet(parameters: ListFilters) -> Asked:
    now = timezone.now()
    return Asked(now, now, now, parameters)
