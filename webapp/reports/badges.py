"""How the state of a report looks."""

from webapp.lib.badges import UNKNOWN, Badge
from webapp.reports.choices import ReportState

REPORT_BADGES: dict[str, Badge] = {
    ReportState.QUEUED: Badge("queued", "○", "unknown"),
    ReportState.RUNNING: Badge("being made", "○", "done"),
    ReportState.DONE: Badge("made", "■", "done"),
    ReportState.FAILED: Badge("not made", "▲", "crit"),
}


def report_badge(state: str) -> Badge:
    return REPORT_BADGES.get(state, UNKNOWN)
