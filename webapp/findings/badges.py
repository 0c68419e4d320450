from webapp.findings.choices import FindingState, Severity
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.translations import gettext_lazy as _

SEVERITY_BADGES: dict[str, Badge] = {
    Severity.CRITICAL: Badge(_("critical"), "▲", "crit"),
    Severity.WARNING: Badge(_("warning"), "◆", "warn"),
    Severity.INFO: Badge(_("info"), "○", "done"),
}

STATE_BADGES: dict[str, Badge] = {
    FindingState.OPEN: Badge(_("open"), "●", "warn"),
    FindingState.CLOSED: Badge(_("closed"), "■", "done"),
}

CONFIDENCE_MEANS = {
    "high": _("several independent measurements agree"),
    "medium": _("the main measurement says so; others are missing or silent"),
    "low": _("a sign, not a proof: look at the evidence before acting"),
}
CONFIDENCE_WORDS = {"high": _("high"), "medium": _("medium"), "low": _("low")}


def severity_badge(severity: str) -> Badge:
    return SEVERITY_BADGES.get(severity, UNKNOWN)


def state_badge(state: str) -> Badge:
    return STATE_BADGES.get(state, UNKNOWN)
