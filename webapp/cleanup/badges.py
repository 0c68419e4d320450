from webapp.cleanup.choices import PlanState
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.outcomes import FileOutcome
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.translations import gettext_lazy as _

STATES: dict[str, Badge] = {
    PlanState.BUILDING: Badge(_("being made"), "○", "done"),
    PlanState.REFUSED: Badge(_("not made"), "▲", "crit"),
    PlanState.PLANNED: Badge(_("waits for approval"), "◆", "warn"),
    PlanState.APPROVED: Badge(_("approved"), "●", "ok"),
    PlanState.APPLYING: Badge(_("being applied"), "○", "done"),
    PlanState.HALTED: Badge(_("stopped in doubt"), "▲", "crit"),
    PlanState.QUARANTINED: Badge(_("in quarantine"), "◆", "warn"),
    PlanState.UNMOVED: Badge(_("no file moved"), "■", "unknown"),
    PlanState.UNDOING: Badge(_("being undone"), "○", "done"),
    PlanState.UNDONE: Badge(_("undone"), "■", "unknown"),
    PlanState.PURGING: Badge(_("being purged"), "○", "done"),
    PlanState.PURGED: Badge(_("purged"), "■", "ok"),
    PlanState.WITHDRAWN: Badge(_("withdrawn"), "■", "unknown"),
}
EMPTY = Badge(_("holds no file"), "■", "unknown")
EXPIRED = Badge(_("expired"), "■", "unknown")
OUTCOMES: dict[str, Badge] = {
    FileOutcome.QUARANTINED: Badge(_("quarantined"), "●", "ok"),
    FileOutcome.CHANGED: Badge(_("changed"), "◆", "warn"),
    FileOutcome.GONE: Badge(_("gone"), "◆", "warn"),
    FileOutcome.REFERRED: Badge(_("referred"), "◆", "warn"),
    FileOutcome.JUDGED_AGAIN: Badge(_("verdict changed"), "◆", "warn"),
    FileOutcome.LINKED: Badge(_("linked"), "◆", "warn"),
    FileOutcome.FAILED: Badge(_("failed"), "▲", "crit"),
    FileOutcome.NOT_REACHED: Badge(_("not reached"), "◆", "warn"),
    FileOutcome.RESTORED: Badge(_("restored"), "●", "ok"),
    FileOutcome.OCCUPIED: Badge(_("occupied"), "◆", "warn"),
    FileOutcome.PURGED: Badge(_("purged"), "●", "ok"),
}


def plan_badge(plan: CleanupPlan, *, expired: bool) -> Badge:
    """``expired`` counts only while the plan could still be applied."""
    if expired and plan.state in (PlanState.PLANNED, PlanState.APPROVED):
        return EXPIRED
    if plan.state == PlanState.PLANNED and not plan.files:
        return EMPTY
    return STATES.get(plan.state, UNKNOWN)


def outcome_badge(outcome: str) -> Badge:
    return OUTCOMES.get(outcome, UNKNOWN)
