"""How states of plans and outcomes of files look."""

from webapp.cleanup.choices import PlanState
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.outcomes import SKIPPED, FileOutcome
from webapp.lib.badges import UNKNOWN, Badge

STATES: dict[str, Badge] = {
    PlanState.BUILDING: Badge("being made", "○", "done"),
    PlanState.REFUSED: Badge("not made", "▲", "crit"),
    PlanState.PLANNED: Badge("waits for approval", "◆", "warn"),
    PlanState.APPROVED: Badge("approved", "●", "ok"),
    PlanState.APPLYING: Badge("being applied", "○", "done"),
    PlanState.HALTED: Badge("stopped in doubt", "▲", "crit"),
    PlanState.QUARANTINED: Badge("in quarantine", "◆", "warn"),
    PlanState.UNMOVED: Badge("no file moved", "■", "unknown"),
    PlanState.UNDOING: Badge("being undone", "○", "done"),
    PlanState.UNDONE: Badge("undone", "■", "unknown"),
    PlanState.PURGING: Badge("being purged", "○", "done"),
    PlanState.PURGED: Badge("purged", "■", "ok"),
    PlanState.WITHDRAWN: Badge("withdrawn", "■", "unknown"),
}
EXPIRED = Badge("expired", "■", "unknown")
_DONE = frozenset({FileOutcome.QUARANTINED, FileOutcome.RESTORED, FileOutcome.PURGED})


def plan_badge(plan: CleanupPlan, *, expired: bool) -> Badge:
    """``expired`` counts only while the plan could still be applied."""
    if expired and plan.state in (PlanState.PLANNED, PlanState.APPROVED):
        return EXPIRED
    return STATES.get(plan.state, UNKNOWN)


def outcome_badge(outcome: str) -> Badge:
    word = outcome.replace("_", " ")
    if outcome in _DONE:
        return Badge(word, "●", "ok")
    return Badge(word, "◆", "warn") if outcome in SKIPPED or outcome == FileOutcome.OCCUPIED else Badge(word, "▲", "crit")
