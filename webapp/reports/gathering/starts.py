"""Starts of one job in the time of a report, by their phases."""

from webapp.fleet.models import JobCurrent
from webapp.reports import texts
from webapp.reports.document import ReportedStart
from webapp.reports.gathering.scope import ReportScope
from webapp.starts.job_starts import Start, job_starts
from webapp.starts.words import straggler


def rows(job: JobCurrent, scope: ReportScope) -> tuple[ReportedStart, ...]:
    """The newest ones, newest first. Two queries."""
    return tuple(_reported(one) for one in job_starts(job, scope.start, scope.end).starts)


def _reported(one: Start) -> ReportedStart:
    parts = tuple((phase.name, float(phase.duration_ms)) for phase in one.phases)
    slowest = straggler(one)
    return ReportedStart(
        one.at, one.kind, one.total_ms, one.usual_total_ms, parts, one.tasks, one.held_up_ms, texts.name(slowest) if slowest else ""
    )
