"""Alerts that nobody has acknowledged, for the menu; those of one incident count as one."""

from django.core.cache import cache
from django.db.models.functions import Coalesce

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def count() -> int:
    """At most 1,000, cached for 15 s."""
    known = cache.get(CACHE_KEY)
    if isinstance(known, int):
        return known
    waiting = Alert.objects.unacknowledged().order_by().values(of=Coalesce("incident", "uid"))
    fresh: int = waiting.distinct()[: CAP + 1].count()
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh
