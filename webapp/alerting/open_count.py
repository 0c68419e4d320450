"""How many troubles nobody has acknowledged, for the menu of every page: alerts of one incident are
one.
"""

from django.core.cache import cache
from django.db.models.functions import Coalesce

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def count() -> int:
    """At most 15 s old, and 1,000 at most."""
    known = cache.get(CACHE_KEY)
    if isinstance(known, int):
        return known
    waiting = Alert.objects.unacknowledged().order_by().values(of=Coalesce("incident", "uid"))
    fresh: int = waiting.distinct()[: CAP + 1].count()
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh
