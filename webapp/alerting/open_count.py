"""How many alerts nobody has acknowledged, for the menu of every page."""

from django.core.cache import cache

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def count() -> int:
    """At most 15 s old, and 1,000 at most."""
    known = cache.get(CACHE_KEY)
    if isinstance(known, int):
        return known
    fresh: int = Alert.objects.unacknowledged().order_by()[: CAP + 1].count()
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh
