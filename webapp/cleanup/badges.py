from webapp.cleanup.choices import PlanState
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.outcomes import FileOutcome
from webapp.lib.badges import UNKNOWN, Badge, Tone

_SYMBOLS: dict[PlanState, tuple[str, Tone]] = {
    PlanState.BUILDING: ("○", "done"),
    PlanState.REFUSED: ("▲", "crit"),
    PlanState.PLANNED: ("◆", "warn"),
    PlanState.APPROVED: ("●", "ok"),
    PlanState.APPLYING: ("○", "done"),
    PlanState.HALTED: ("▲", "crit"),
    PlanState.QUARANTINED: ("◆", "warn"),
    PlanState.UNMOVED: ("■", "unknown"),
    PlanState.UNDOING: ("○", "done"),
    PlanState.UNDONE: ("■", "unknown"),
    PlanState.PURGING: ("○", "done"),
    PlanState.PURGED: ("■", "ok"),
    PlanState.WITHDRAWN: ("■", "unknown"),
}
STATES: dict[str, Badge] = {
    state: Badge(state.label, symbol, tone) for state, (symbol, tone) in _SYMBOLS.items()
}
EMPTY = Badge("holds no file", "■", "unknown")
EXPIRED = Badge("expired", "■", "unknown")
OUTCOMES: dict[str, Badge] = {
    FileOutcome.QUARANTINED: Badge("quarantined", "●", "ok"),
    FileOutcome.CHANGED: Badge("changed", "◆", "warn"),
    FileOutcome.GONE: Badge("gone", "◆", "warn"),
    FileOutcome.REFERRED: Badge("referred", "◆", "warn"),
    FileOutcome.JUDGED_AGAIN: Badge("verdict changed", "◆", "warn"),
    FileOutcome.LINKED: Badge("linked", "◆", "warn"),
    FileOutcome.FAILED: Badge("failed", "▲", "crit"),
    FileOutcome.NOT_REACHED: Badge("not reached", "◆", "warn"),
    FileOutcome.RESTORED: Badge("restored", "●", "ok"),
    FileOutcome.OCCUPIED: Badge("occupied", "◆", "warn"),
    FileOutcome.PURGED: Badge("purged", "●", "ok"),
}


def plan_badge(plan: CleanupPlan, *, expired: bool) -> Badge:
    if expired and plan.state in (PlanState.PLANNED, PlanState.APPROVED):
        return EXPIRED
    if plan.state == PlanState.PLANNED and not plan.files:
        return EMPTY
    return STATES.get(plan.state, UNKNOWN)


def outcome_badge(outcome: str) -> Badge:
    return OUTCOMES.get(outcome, UNKNOWN)
