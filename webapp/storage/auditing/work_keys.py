"""The due work of storage audits: its keys, and how often all roots are audited."""

from datetime import datetime

from django.conf import settings

from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork
from webapp.work.registry import HOUR_S

AUDIT, BY_HAND = "storage/audit", "storage/by-hand"
"""``BY_HAND`` is claimed by commands only, and never due."""


def audits_s() -> dict[str, int]:
    """Seconds between audits: all roots are audited together, as they may refer to each other."""
    is_needed = StorageRoot.objects.audited().exists()
    return {AUDIT: HOUR_S * settings.WEIR.storage_audit_h} if is_needed else {}


def after(began: datetime, ended: datetime) -> datetime | None:
    """When the next audit is due: at once if a root was added since this one began, else None for
    its interval.
    """
    return ended if StorageRoot.objects.audited().filter(created_at__gt=began).exists() else None


def audit_now(at: datetime) -> bool:
    """Makes an audit of all roots due now; False without roots."""
    intervals = audits_s()
    DueWork.objects.ensure(intervals, at)
    return bool(intervals) and bool(DueWork.objects.filter(key=AUDIT).update(next_attempt_at=at))
