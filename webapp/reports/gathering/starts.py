"""Starts of one job in the time of a report, by their phases."""

from webapp.analyses.starts.job_starts import JobStarts, Start
from webapp.analyses.starts.words import straggler
from webapp.reports import texts
from webapp.reports.document import ReportedStart


def rows(found: JobStarts) -> tuple[ReportedStart, ...]:
    """Newest first."""
    return tuple(_reported(one) for one in found.starts)


def _reported(one: Start) -> ReportedStart:
    parts = tuple((phase.name, float(phase.duration_ms)) for phase in one.phases)
    slowest = straggler(one)
    return ReportedStart(
        one.at,
        one.kind,
        one.total_ms,
        one.usual_total_ms,
        parts,
        one.tasks,
        one.held_up_ms,
        texts.name(slowest) if slowest else "",
    )
