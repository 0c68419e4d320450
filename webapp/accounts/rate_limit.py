"""Limits the requests per minute of a token, or of a person who uses sessions."""

import math
import time
from datetime import UTC

from django.conf import settings
from django.core.cache import cache
from django.utils import translation

from webapp.accounts.models import ApiToken
from webapp.lib import scopes, shown_zone

WINDOW_S = 60


def seconds_to_wait(person: int, token: ApiToken | None) -> int:
    """Counts this request, and returns 0 if it is within the limit. Sixty seconds that span two
    windows may have twice as many requests. Without Redis in the settings each process counts
    alone; if Redis does not answer, nobody is refused.
    """
    limit = settings.WEIR.requests_per_min
    if not limit:
        return 0
    now = time.time()
    key = f"rate:{f'token:{token.pk}' if token else f'person:{person}'}:{int(now // WINDOW_S)}"
    # Cache keys contain scope, language and time zone. Fixed values need no query and share a count.
    with (
        scopes.everything(),
        translation.override(settings.LANGUAGE_CODE),
        shown_zone.within(lambda: UTC),
    ):
        count = 1 if cache.add(key, 1, 2 * WINDOW_S) else _increment(key)
    return math.ceil(WINDOW_S - now % WINDOW_S) if count > limit else 0


def _increment(key: str) -> int:
    try:
        return int(cache.incr(key))
    except ValueError:  # the key expired between the two calls
        return 1
