"""Number of unacknowledged alerts, for the menu; alerts of an incident count as one."""

from django.core.cache import cache
from django.db.models.functions import Coalesce

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def count() -> int:
    """At most 1,000, cached for 15 s."""
    subjects = Alert.objects.unacknowledged().order_by().values(of=Coalesce("incident", "uid"))
    number = cache.get_or_set(CACHE_KEY, subjects.distinct()[: CAP + 1].count, CACHED_FOR_S)
    return number or 0
