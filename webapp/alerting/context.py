"""How many alerts wait for somebody, for the header of every page."""

from typing import Any

from django.core.cache import cache
from django.http import HttpRequest

from webapp.alerting.models import Alert

CACHE_KEY, CACHED_FOR_S = "alerts-waiting", 15
CAP = 999


def waiting(request: HttpRequest) -> dict[str, Any]:
    """``alerts_waiting`` in templates, which call it only where they use it."""
    return {"alerts_waiting": count}


def count() -> int:
    """At most 15 s old, and 1,000 at most."""
    known = cache.get(CACHE_KEY)
    if isinstance(known, int):
        return known
    fresh: int = Alert.objects.waiting_for_somebody().order_by()[: CAP + 1].count()
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh
