"""Instants and ages as people read them; everything is UTC and says so."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.translation import gettext

from webapp.lib.quantities import UNKNOWN, duration_text

JUST_NOW = timedelta(seconds=2)

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Pages reckon between these: there is room around them, so that no margin leaves Python's calendar."""


def drawable(instant: datetime) -> datetime:
    """The instant, or that end of what pages reckon with which it lies beyond."""
    return min(max(instant, EARLIEST), LATEST)


def epoch_ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


def ms_after(instant: datetime, ms: int | None) -> datetime:
    """``ms`` later; the last drawable instant where a wrong duration leads beyond it."""
    try:
        return instant + timedelta(milliseconds=ms or 0)
    except OverflowError:
        return LATEST


def instant_text(instant: datetime | None) -> str:
    """'2026-11-21 04:10:31 UTC'."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if instant else UNKNOWN


def clock_text(instant: datetime | None) -> str:
    """'04:10:31', for rows below a heading with the day."""
    return f"{instant.astimezone(UTC):%H:%M:%S}" if instant else UNKNOWN


def day_and_clock_text(instant: datetime | None) -> str:
    """'11-21 04:10:31', for tables that span days."""
    return f"{instant.astimezone(UTC):%m-%d %H:%M:%S}" if instant else UNKNOWN


def day_and_minute_text(instant: datetime | None) -> str:
    """'11-25 02:10', for what is to come: nobody counts the seconds until then."""
    return f"{instant.astimezone(UTC):%m-%d %H:%M}" if instant else UNKNOWN


def age_text(instant: datetime | None, at: datetime) -> str:
    """'6 min ago'; instants of a clock slightly ahead of ours are 'just now'."""
    if instant is None:
        return UNKNOWN
    age = at - instant
    if abs(age) < JUST_NOW:
        return gettext("just now")
    ms = age / timedelta(milliseconds=1)
    if ms < 0:
        return gettext("in %(time)s") % {"time": _rough(-ms)}
    return gettext("%(time)s ago") % {"time": _rough(ms)}


def span_text(start: datetime | None, end: datetime | None) -> str:
    """How long from ``start`` to ``end``: '3 d 4 h'. Unknown where a wrong clock has it end before it starts."""
    return UNKNOWN if start is None or end is None or end < start else duration_text((end - start) / timedelta(milliseconds=1))


def _rough(ms: float) -> str:
    """One unit up to an hour: nobody needs the seconds of '6 min 12 s ago'."""
    if ms < 60_000:
        return f"{ms / 1000:.0f} s"
    if ms < 3_600_000:
        return f"{ms // 60_000:.0f} min"
    return duration_text(ms)


def of_json(value: Any) -> datetime | None:
    """An instant inside a JSON document: ISO text or epoch milliseconds; ``None`` for anything else."""
    try:
        if isinstance(value, str):
            instant = datetime.fromisoformat(value)
            return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
