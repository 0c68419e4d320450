"""Retries as Standard Webhooks specify: ten attempts over three days."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from random import SystemRandom

DELAYS_S = (0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
JITTER = 0.1
"""Up to 10 % shorter or longer: deliveries are not all retried together."""
LONGEST_PAUSE = timedelta(hours=24)
GIVEN_UP_AFTER = timedelta(days=5)
"""An endpoint is disabled if it accepted nothing for this long, and a delivery failed for the last
time.
"""


def next_attempt(tries: int, at: datetime, pause: timedelta | None = None) -> datetime | None:
    """None after the last attempt. ``pause``: what the receiver requested."""
    if tries >= len(DELAYS_S):
        return None
    delay = timedelta(seconds=DELAYS_S[tries] * SystemRandom().uniform(1 - JITTER, 1 + JITTER))
    return at + max(delay, pause or timedelta())


def pause_of(header: str, at: datetime) -> timedelta | None:
    """Reads ``retry-after``: seconds or a date. At most 24 h; None if invalid."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), LONGEST_PAUSE)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(until - at, timedelta()), LONGEST_PAUSE)
