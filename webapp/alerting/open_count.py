"""Number of unacknowledged alerts, for the menu; alerts of an incident count as one."""

from django.core.cache import cache
from django.db.models.functions import Coalesce

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def count() -> int:
    """At most 1,000, cached for 15 s."""
    cached = cache.get(CACHE_KEY)
    if isinstance(cached, int):
        return cached
    subjects = Alert.objects.unacknowledged().order_by().values(of=Coalesce("incident", "uid"))
    number: int = subjects.distinct()[: CAP + 1].count()
    cache.set(CACHE_KEY, number, CACHED_FOR_S)
    return number
