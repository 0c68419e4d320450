"""States of storage as words, shapes and tones."""

from webapp.lib.badges import Badge
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.choices import AuditState

CLEANABLE = Badge(_("can be cleaned"), "●", "ok")
NOT_CLEANABLE = Badge(_("not cleanable"), "◆", "warn")
NOT_AUDITED = Badge(_("not audited"), "?", "unknown")
AUDIT_BADGES: dict[str, Badge] = {
    AuditState.RUNNING: Badge(_("running"), "…", "unknown"),
    AuditState.WRITTEN: Badge(_("to be loaded"), "…", "unknown"),
    AuditState.LOADED: Badge(_("done"), "●", "ok"),
    AuditState.FAILED: Badge(_("failed"), "▲", "crit"),
}
YES = Badge(_("yes"), "●", "ok")
NO = Badge(_("no"), "▲", "crit")
UNKNOWN = Badge(_("unknown"), "?", "unknown")
PLAIN_NO = Badge(_("no"), "◆", "warn")


def answer(value: bool | None, no: Badge = NO) -> Badge:
    """``None`` is unknown."""
    return UNKNOWN if value is None else YES if value else no
