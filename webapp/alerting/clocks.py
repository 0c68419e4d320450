"""Finds and corrects instants in the future, by a wrong clock: they would delay notices."""

from datetime import datetime

from django.db.models import Exists, Q

from webapp.alerting.choices import OPEN, AlertState
from webapp.alerting.models import Alert, AlertGroup
from webapp.work.models import CLOCK_SLACK

_FIELDS = ("notified_at", "notify_since", "quiet_since", "milder_since")


def any_ahead(now: datetime) -> bool:
    latest = now + CLOCK_SLACK
    waits = Q(state__in=OPEN) | Q(notify_since__isnull=False)
    has_future_instant = Q(episode_at__gt=latest, state=AlertState.PENDING)
    for name in _FIELDS:
        has_future_instant |= Q(**{f"{name}__gt": latest})
    condition = Q(last_notified_at__gt=latest) | Exists(
        Alert.objects.filter(waits, has_future_instant)
    )
    return AlertGroup.objects.filter(condition).exists()


def mend(now: datetime) -> None:
    """Call it in a transaction."""
    latest = now + CLOCK_SLACK
    AlertGroup.objects.filter(last_notified_at__gt=latest).update(last_notified_at=now, recent=[])
    for name in _FIELDS:
        Alert.objects.filter(**{f"{name}__gt": latest}).update(**{name: now})
    pending = Alert.objects.filter(state=AlertState.PENDING, episode_at__gt=latest)
    pending.update(episode_at=now)
