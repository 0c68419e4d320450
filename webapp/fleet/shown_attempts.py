"""The attempts that a job's page shows: all that lived in its time range, or only the one in the
URL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.http import HttpRequest

from webapp.fleet.attempts import ALL, PARAMETER, THIS, began_at, lived_in, other_attempts
from webapp.fleet.job_lookup import LEAST_MARGIN, MARGIN, JobView, whole_life
from webapp.fleet.models import JobCurrent
from webapp.lib import timeranges
from webapp.lib.instants import drawable

ID_SHOWN = 8


@dataclass(frozen=True)
class Border:
    at: datetime
    job_id: str

    @property
    def words(self) -> str:
        return f"attempt {self.job_id[:ID_SHOWN]}"


@dataclass(frozen=True)
class ShownAttempts:
    """Attempts, newest first. ``job``: the attempt in the URL, which ``shown`` includes. ``alone``:
    only ``job`` is shown. ``chosen``: whether a time range was chosen.
    """

    job: JobCurrent
    others: Sequence[JobCurrent]
    shown: Sequence[JobCurrent]
    start: datetime
    end: datetime
    alone: bool
    chosen: bool = True

    @property
    def ids(self) -> list[str]:
        return [job.job_id for job in self.shown]

    @property
    def are_several(self) -> bool:
        return len(self.shown) > 1

    @property
    def drawn_from(self) -> datetime:
        """The first attempt's start, unless a time range was chosen."""
        beginnings = [at for job in self.shown if (at := began_at(job))]
        if self.chosen or len(beginnings) < len(self.shown):
            return self.start
        first = drawable(min(beginnings))
        if first >= self.end:
            return self.start
        return max(self.start, first - max((self.end - first) * MARGIN, LEAST_MARGIN))

    @cached_property
    def borders(self) -> list[Border]:
        """Where attempts begin, except the first one of the job."""
        if self.alone:
            return []
        first = min(
            (at for job in (self.job, *self.others) if (at := began_at(job))), default=self.start
        )
        beginnings = [(at, job.job_id) for job in self.shown if (at := began_at(job))]
        return [
            Border(at, job_id)
            for at, job_id in sorted(beginnings)
            if self.start <= at <= self.end and at > first
        ]

    @property
    def query(self) -> str:
        return f"{PARAMETER}={THIS if self.alone else ALL}"

    @property
    def all_attempts_query(self) -> str:
        lives = [
            whole_life(job, drawable(job.last_seen_at or job.as_of))
            for job in (self.job, *self.others)
        ]
        whole = timeranges.around(
            min(life.from_time for life in lives), max(life.to_time for life in lives)
        )
        return f"{whole.query}&{PARAMETER}={ALL}"


def shown_attempts(request: HttpRequest, view: JobView) -> ShownAttempts:
    """One query. An ended attempt is shown alone, unless a time range is chosen."""
    start, end = view.time_range.from_time, view.time_range.to_time
    others = other_attempts(view.job)
    parameter = request.GET.get(PARAMETER, "")
    alone = parameter == THIS or (parameter != ALL and view.is_past and not view.time_range.chosen)
    in_range = [] if alone else [job for job in others if lived_in(job, start, end)]
    shown = sorted(
        [view.job, *in_range], key=lambda job: (began_at(job) or end, job.pk), reverse=True
    )
    return ShownAttempts(view.job, others, shown, start, end, alone, view.time_range.chosen)
