"""The weekly digest: one a week, however often and by whatever worker it is checked."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction

from webapp.reports import work_keys
from webapp.reports.choices import ReportKind
from webapp.reports.gathering import digest
from webapp.reports.models import IncidentReport

WEEK = timedelta(days=7)
OFF = "off"
LATE = timedelta(days=3)
"""A digest that was missed is made up to this much later."""
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def latest_end(when: str, now: datetime) -> datetime:
    """The newest instant of ``when`` ('mon 06:00', UTC) that is not after ``now``."""
    day, _space, clock = when.partition(" ")
    hours, minutes = (int(part) for part in clock.split(":"))
    today = now.astimezone(UTC).replace(hour=hours, minute=minutes, second=0, microsecond=0)
    end = today - timedelta(days=(today.weekday() - _DAYS.index(day)) % 7)
    return end if end <= now else end - WEEK


def request_where_due(now: datetime) -> bool:
    """Request the digest of the last full week, unless it was requested before or the week is
    empty.
    """
    when = settings.WEIR.weekly_digest
    if when == OFF:
        return False
    end = latest_end(when, now)
    if now - end > LATE or not digest.has_anything(end - WEEK, end):
        return False
    with transaction.atomic():
        report, made = IncidentReport.objects.get_or_create(
            digest_of=end,
            defaults={"kind": ReportKind.DIGEST, "start": end - WEEK, "end": end, "asked_at": now},
        )
        if made:
            work_keys.wake(report.pk, now)
    return made
