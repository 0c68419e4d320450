"""States of storage as words, shapes and tones."""

from webapp.lib.badges import Badge
from webapp.storage.choices import AuditState

CLEANABLE = Badge("can be cleaned", "●", "ok")
NOT_CLEANABLE = Badge("not cleanable", "◆", "warn")
NOT_AUDITED = Badge("not audited", "?", "unknown")
AUDIT_BADGES: dict[str, Badge] = {
    AuditState.RUNNING: Badge("running", "…", "unknown"),
    AuditState.WRITTEN: Badge("to be loaded", "…", "unknown"),
    AuditState.LOADED: Badge("done", "●", "ok"),
    AuditState.FAILED: Badge("failed", "▲", "crit"),
}
YES, NO, UNKNOWN = Badge("yes", "●", "ok"), Badge("no", "▲", "crit"), Badge("unknown", "?", "unknown")
PLAIN_NO = Badge("no", "◆", "warn")


def answer(value: bool | None, no: Badge = NO) -> Badge:
    """``None`` is unknown."""
    return UNKNOWN if value is None else YES if value else no
