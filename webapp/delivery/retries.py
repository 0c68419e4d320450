"""Retries by the Standard Webhooks specification: ten attempts over three days."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from random import SystemRandom

DELAYS_S = (0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
JITTER = 0.1
"""Each way: deliveries that failed together are not retried together."""
LONGEST_PAUSE = timedelta(hours=24)
GIVEN_UP_AFTER = timedelta(days=5)
"""An endpoint that accepted nothing for this long, and used up a schedule, is disabled."""


def next_attempt(tries: int, at: datetime, pause: timedelta | None = None) -> datetime | None:
    """None after the last attempt. ``pause``: requested by the receiver."""
    if tries >= len(DELAYS_S):
        return None
    delay = timedelta(seconds=DELAYS_S[tries] * SystemRandom().uniform(1 - JITTER, 1 + JITTER))
    return at + max(delay, pause or timedelta())


def pause_of(header: str, at: datetime) -> timedelta | None:
    """From ``retry-after`` (seconds or a date), at most 24 h; None if invalid."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), LONGEST_PAUSE)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(until - at, timedelta()), LONGEST_PAUSE)
