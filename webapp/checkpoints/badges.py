"""How outcomes of checkpoints look."""

from webapp.lib.badges import UNKNOWN, Badge

OUTCOME_BADGES: dict[str, Badge] = {
    "completed": Badge("completed", "●", "ok"),
    "declined": Badge("declined", "✕", "crit"),
    "expired": Badge("expired", "✕", "crit"),
    "failed": Badge("failed", "✕", "crit"),
    "aborted": Badge("aborted", "–", "unknown"),
    "subsumed": Badge("subsumed", "–", "unknown"),
    "preflight": Badge("refused before start", "–", "unknown"),
    "in_progress": Badge("in progress", "□", "done"),
}


def outcome_badge(outcome: str | None) -> Badge:
    return OUTCOME_BADGES.get(outcome or "", UNKNOWN)
