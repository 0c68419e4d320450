from datetime import datetime, timedelta

from django.conf import settings

from webapp.fleet.pipeline_status.status import recent_status
from webapp.lib.badges import Badge, as_far_as_known
from webapp.storage.choices import AuditState
from webapp.storage.models import RootFigures

CLEANABLE = Badge("can be cleaned", "●", "ok")
NOT_CLEANABLE = Badge("not cleanable", "◆", "warn")
NOT_AUDITED = Badge("not audited", "?", "unknown")
AUDIT_BADGES: dict[str, Badge] = {
    AuditState.RUNNING: Badge("running", "…", "unknown"),
    AuditState.WRITTEN: Badge("to be loaded", "…", "unknown"),
    AuditState.LOADED: Badge("done", "●", "ok"),
    AuditState.FAILED: Badge("failed", "▲", "crit"),
}
YES = Badge("yes", "●", "ok")
NO = Badge("no", "▲", "crit")
UNKNOWN = Badge("unknown", "?", "unknown")
PLAIN_NO = Badge("no", "◆", "warn")


def answer(value: bool | None, no: Badge = NO) -> Badge:
    if value is None:
        return UNKNOWN
    return YES if value else no


MISSED_AUDITS = 3
"""After so many intervals an audit is late, as a cycle (:mod:`webapp.fleet.freshness`): a restart
of the workers may skip one.
"""


def is_known(figures: RootFigures, now: datetime) -> bool:
    """Whether Weir runs and the root was audited within three audit intervals."""
    return recent_status().is_present and not is_late(figures, now)


def is_late(figures: RootFigures, now: datetime) -> bool:
    return now - figures.as_of > MISSED_AUDITS * timedelta(hours=settings.WEIR.storage_audit_h)


def root_badge(figures: RootFigures | None, now: datetime) -> Badge:
    if figures is None:
        return NOT_AUDITED
    return as_far_as_known(
        CLEANABLE if figures.cleanable else NOT_CLEANABLE, is_known(figures, now)
    )
