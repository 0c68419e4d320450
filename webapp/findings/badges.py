"""How severity and state of findings look, and what confidence means."""

from webapp.findings.choices import FindingState, Severity
from webapp.lib.badges import UNKNOWN, Badge

SEVERITY_BADGES: dict[str, Badge] = {
    Severity.CRITICAL: Badge("critical", "▲", "crit"),
    Severity.WARNING: Badge("warning", "◆", "warn"),
    Severity.INFO: Badge("info", "○", "done"),
}

STATE_BADGES: dict[str, Badge] = {
    FindingState.OPEN: Badge("open", "●", "warn"),
    FindingState.CLOSED: Badge("closed", "■", "done"),
}

CONFIDENCE_MEANS = {
    "high": "several independent measurements agree",
    "medium": "the main measurement says so; others are missing or silent",
    "low": "a sign, not a proof: look at the evidence before acting",
}


def severity_badge(severity: str) -> Badge:
    return SEVERITY_BADGES.get(severity, UNKNOWN)


def state_badge(state: str) -> Badge:
    return STATE_BADGES.get(state, UNKNOWN)
