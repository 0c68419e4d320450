from datetime import datetime

from django.conf import settings

from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork
from webapp.work.registry import HOUR_S

AUDIT, BY_HAND = "storage/audit", "storage/by-hand"
"""``BY_HAND`` is claimed by commands only, and never due."""


def audit_intervals_s() -> dict[str, int]:
    """Key → seconds between audits. All roots are audited together, for they may refer to each
    other.
    """
    has_roots = StorageRoot.objects.audited().exists()
    return {AUDIT: HOUR_S * settings.WEIR.storage_audit_h} if has_roots else {}


def next_audit_at(started_at: datetime, ended_at: datetime) -> datetime | None:
    """When the next audit is due: at once if a root was added since the last one began, else None
    for the usual interval.
    """
    return (
        ended_at
        if StorageRoot.objects.audited().filter(created_at__gt=started_at).exists()
        else None
    )


def audit_now(at: datetime) -> bool:
    """Makes an audit of all roots due; returns False if there are no roots."""
    intervals = audit_intervals_s()
    DueWork.objects.ensure(intervals, at)
    return bool(intervals) and bool(DueWork.objects.filter(key=AUDIT).update(next_attempt_at=at))
