"""Starts of one job in the time of a report, by their phases."""

from webapp.analyses.starts.job_starts import JobStarts, Start
from webapp.analyses.starts.words import straggler
from webapp.reports import texts
from webapp.reports.document import ReportedStart


def rows(starts: JobStarts) -> tuple[ReportedStart, ...]:
    """Newest first."""
    return tuple(_reported(start) for start in starts.starts)


def _reported(start: Start) -> ReportedStart:
    parts = tuple((phase.name, float(phase.duration_ms)) for phase in start.phases)
    slowest = straggler(start)
    return ReportedStart(
        start.at,
        start.kind,
        start.total_ms,
        start.usual_total_ms,
        parts,
        start.tasks,
        start.held_up_ms,
        texts.name(slowest) if slowest else "",
    )
