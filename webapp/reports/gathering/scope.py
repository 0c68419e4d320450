"""What a report is about: jobs and a stretch of time, within bounds."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from ingest.messages import message
from webapp.fleet.attempts import lived_in, of_jobs, other_attempts
from webapp.fleet.models import JobCurrent
from webapp.lib.refusals import InputRefused

MOST_JOBS = 50
LONGEST = timedelta(days=31)
SHORTEST = timedelta(seconds=10)


@dataclass(frozen=True)
class JobKey:
    """One job of a cluster."""

    cluster: str
    job_id: str


@dataclass(frozen=True)
class ReportScope:
    """``jobs`` in the order they were chosen; ``start`` < ``end``, aware UTC."""

    jobs: tuple[JobKey, ...]
    start: datetime
    end: datetime

    @property
    def rows(self) -> Q:
        """Of findings and alerts: rows of these jobs, and of their clusters as a whole (with no
        job).
        """
        query = Q(job_id="", cluster__in={job.cluster for job in self.jobs})
        for cluster in {job.cluster for job in self.jobs}:
            ids = [job.job_id for job in self.jobs if job.cluster == cluster]
            query |= of_jobs(ids, cluster)
        return query

    @property
    def points_a_job(self) -> int:
        """How many checkpoints of each job are listed one by one, so that a report of fifty jobs
        stays a file that opens.
        """
        return max(60, min(400, 3_000 // max(len(self.jobs), 1)))


def rows_of(keys: Collection[JobKey]) -> QuerySet[JobCurrent]:
    """These jobs, as far as they are known; and those of the same ids on others of their clusters,
    which the caller leaves out.
    """
    return JobCurrent.objects.filter(
        cluster__in={key.cluster for key in keys}, job_id__in={key.job_id for key in keys}
    )


def with_attempts(scope: ReportScope, jobs: Iterable[JobCurrent]) -> ReportScope:
    """And the other attempts of these jobs that lived in the time, as far as a report covers so
    many. One query a job.
    """
    keys = dict.fromkeys(scope.jobs)
    for job in jobs:
        if JobKey(job.cluster, job.job_id) in keys:
            lived = [one for one in other_attempts(job) if lived_in(one, scope.start, scope.end)]
            keys.update(dict.fromkeys(JobKey(job.cluster, job.job_id) for job in lived))
    return replace(scope, jobs=tuple(keys)[:MOST_JOBS])


class BadScope(InputRefused):
    """The message is one sentence, safe to show."""


def checked(jobs: Sequence[JobKey], start: datetime, end: datetime) -> ReportScope:
    """Raises :class:`BadScope`."""
    chosen = tuple(dict.fromkeys(jobs))
    if not chosen:
        raise BadScope(message("Choose at least one job."))
    if len(chosen) > MOST_JOBS:
        raise BadScope(
            message(
                "A report covers at most {most_jobs:number} jobs; {chosen:number} are chosen.",
                most_jobs=MOST_JOBS,
                chosen=len(chosen),
            )
        )
    check_span(start, end)
    return ReportScope(chosen, start, end)


def check_span(start: datetime, end: datetime) -> None:
    """Raises :class:`BadScope`."""
    if end - start < SHORTEST:
        raise BadScope(message("The time has to end after it starts."))
    if end - start > LONGEST:
        raise BadScope(
            message("A report spans at most {days:number} days; make several.", days=LONGEST.days)
        )
