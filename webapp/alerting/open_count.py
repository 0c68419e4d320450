"""How many jobs and clusters have alerts that nobody has acknowledged, for the menu of every page:
one trouble of a job makes several alerts.
"""

from django.core.cache import cache

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def count() -> int:
    """At most 15 s old, and 1,000 at most."""
    known = cache.get(CACHE_KEY)
    if isinstance(known, int):
        return known
    troubled = Alert.objects.unacknowledged().order_by().values("cluster", "first_attempt_id")
    fresh: int = troubled.distinct()[: CAP + 1].count()
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh
