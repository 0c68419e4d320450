"""Instants and ages as texts, in the time zone of the page (:mod:`webapp.lib.shown_zone`)."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext

from webapp.lib import shown_zone
from webapp.lib.quantities import UNKNOWN, duration_text

JUST_NOW = timedelta(seconds=2)

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Limits of shown instants: a margin around them is still within Python's calendar."""


def drawable(instant: datetime, margin: timedelta = timedelta()) -> datetime:
    return min(max(instant, EARLIEST - margin), LATEST + margin)


def day_of(instant: datetime) -> date:
    """The UTC day, as in daily sums."""
    return instant.astimezone(UTC).date()


def begin_of_day(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def epoch_ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


def instant_of(epoch_ms: float) -> datetime:
    """Inverse of :func:`epoch_ms`. Raises ValueError or OverflowError beyond Python's calendar."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def iso_text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ms_after(instant: datetime, ms: int | None) -> datetime:
    """Limited to the last drawable instant."""
    try:
        return instant + timedelta(milliseconds=ms or 0)
    except OverflowError:
        return LATEST


def instant_text(instant: datetime | None) -> str:
    """'2026-11-21 04:10:31 UTC', or '2026-11-21 12:10:31 +08:00'."""
    if instant is None:
        return UNKNOWN
    return f"{_local(instant):%Y-%m-%d %H:%M:%S} {shown_zone.offset_text(instant)}"


def utc_text(instant: datetime) -> str:
    """'2026-11-21 04:10:31 UTC', for texts that are stored or sent; pages convert it by
    ``|in_zone``.
    """
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def minute_text(instant: datetime | None) -> str:
    """'2026-11-21 04:10 UTC', for instants that people set, without seconds."""
    if instant is None:
        return UNKNOWN
    return f"{_local(instant):%Y-%m-%d %H:%M} {shown_zone.offset_text(instant)}"


def day_text(instant: datetime | None) -> str:
    """'2026-11-21', a heading above :func:`clock_text`."""
    return f"{_local(instant):%Y-%m-%d}" if instant else UNKNOWN


def clock_text(instant: datetime | None) -> str:
    """'04:10:31', for rows below a heading with the day."""
    return _text(instant, "%H:%M:%S")


def day_and_clock_text(instant: datetime | None) -> str:
    """'11-21 04:10:31', for tables that span days."""
    return _text(instant, "%m-%d %H:%M:%S")


def day_and_minute_text(instant: datetime | None) -> str:
    """'11-25 02:10', for future instants, without seconds."""
    return _text(instant, "%m-%d %H:%M")


def _local(instant: datetime) -> datetime:
    try:
        return instant.astimezone(shown_zone.current())
    except OverflowError:
        return instant.astimezone(UTC)


def _text(instant: datetime | None, form: str) -> str:
    if instant is None:
        return UNKNOWN
    local = _local(instant)
    text = f"{local:{form}}"
    return f"{text} {shown_zone.offset_of(local)}" if shown_zone.is_twice(local) else text


def age_text(instant: datetime | None, at: datetime) -> str:
    """'6 min ago'; 'in 6 min' for a future instant."""
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
    """From ``start`` to ``end``: '3 d 4 h'. A negative time, from a wrong clock, is unknown."""
    if start is None or end is None or end < start:
        return UNKNOWN
    return duration_text((end - start) / timedelta(milliseconds=1))


def _rough(ms: float) -> str:
    """One unit up to an hour: '6 min', not '6 min 12 s'."""
    if ms < 60_000:
        return f"{ms / 1000:.0f} s"
    if ms < 3_600_000:
        return f"{ms // 60_000:.0f} min"
    return duration_text(ms)


def from_json(value: Any) -> datetime | None:
    """``value`` of a JSON document: ISO text or epoch ms; None for anything else."""
    try:
        if isinstance(value, str):
            instant = datetime.fromisoformat(value)
            return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return instant_of(value)
    except (ValueError, OverflowError, OSError):
        return None
    return None
