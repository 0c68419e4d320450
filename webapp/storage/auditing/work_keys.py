"""The due work of storage audits: its keys, and how often all roots are audited."""

from datetime import datetime

from django.conf import settings

from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork
from webapp.work.registry import HOUR_S

AUDIT, BY_HAND = "storage/audit", "storage/by-hand"
"""``BY_HAND`` is claimed by commands only, and never due."""


def audits_s() -> dict[str, int]:
    """All roots are audited together, since files of one may be referred to from another: the
    shortest wish counts.
    """
    hours = list(StorageRoot.objects.audited().values_list("audit_every_h", flat=True))
    return (
        {AUDIT: HOUR_S * min(wish or settings.WEIR.storage_audit_h for wish in hours)}
        if hours
        else {}
    )


def after(began: datetime, ended: datetime) -> datetime | None:
    """The next audit: at once where a root was added after this one had begun, else in its interval
    (None).
    """
    return ended if StorageRoot.objects.audited().filter(created_at__gt=began).exists() else None


def audit_now(at: datetime) -> bool:
    """An audit of all roots is due now; False if none is audited."""
    intervals = audits_s()
    DueWork.objects.ensure(intervals, at)
    return bool(intervals) and bool(DueWork.objects.filter(key=AUDIT).update(next_attempt_at=at))
