"""The time zone in which a page shows instants and reads those without a zone: UTC, unless the user
chose another. It is in a context variable, like the scope. Tasks, commands and the API set none:
machines read UTC.
"""

import re
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

_find: ContextVar[Callable[[], tzinfo] | None] = ContextVar("shown_zone", default=None)
_UTC_NAMES = frozenset(
    ("UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal", "UCT", "Etc/UCT")
)
_DAY, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}(?::[0-9]{2})?"
_WRITTEN = re.compile(rf"\b({_DAY}) ({_CLOCK})(?: – (?:({_DAY}) )?({_CLOCK}))? UTC\b")
_NOWHERE = timedelta()


def current() -> tzinfo:
    find = _find.get()
    return find() if find else UTC


@contextmanager
def within(find: Callable[[], tzinfo]) -> Iterator[None]:
    """``find`` is called when the first instant is shown."""
    token = _find.set(find)
    try:
        yield
    finally:
        _find.reset(token)


def named(name: str) -> tzinfo | None:
    """The zone of an IANA name; ``None`` if there is none of it."""
    if name in _UTC_NAMES:
        return UTC
    return zoneinfo.ZoneInfo(name) if name in names() else None


@cache
def names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def label() -> str:
    """For headings: 'UTC', '+08:00' for a zone with a fixed offset, else its name, since offsets
    differ by row.
    """
    zone = current()
    if not isinstance(zone, zoneinfo.ZoneInfo):
        return "UTC"
    now = datetime.now(UTC)
    offsets = {
        (now + timedelta(days=days)).astimezone(zone).utcoffset() for days in range(-364, 365, 28)
    }
    return offset_text(now) if len(offsets) == 1 else zone.key


def key() -> str:
    """The zone in forms: 'UTC' or the IANA name."""
    zone = current()
    return zone.key if isinstance(zone, zoneinfo.ZoneInfo) else "UTC"


def offset_text(instant: datetime) -> str:
    """'UTC', or '+08:00' in another zone: abbreviations such as CST are ambiguous."""
    zone = current()
    return "UTC" if zone is UTC else offset_of(instant.astimezone(zone))


def offset_of(local: datetime) -> str:
    """'+08:00' of an instant in a zone."""
    ahead = local.utcoffset() or _NOWHERE
    minutes = round(abs(ahead) / timedelta(minutes=1))
    return f"{'-' if ahead < _NOWHERE else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def is_twice(local: datetime) -> bool:
    """Whether this local time occurs twice, since clocks are set back over it."""
    return local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()


def rewritten(text: object) -> str:
    """A sentence with its UTC instants converted to the shown zone.

    '2026-11-21 04:10:31 UTC', '2026-11-21 04:10 – 10:09 UTC' and '2026-11-21 04:10 – 2026-11-22
    10:09 UTC' are recognised.
    """
    zone = current()
    return (
        str(text) if zone is UTC else _WRITTEN.sub(lambda match: _convert(match, zone), str(text))
    )


def _convert(match: re.Match[str], zone: tzinfo) -> str:
    day, clock, last_day, last_clock = match.groups()
    try:
        start = _local(day, clock, zone)
        if not last_clock:
            return _text(start, clock, with_offset=True)
        end = _local(last_day or day, last_clock, zone)
    except (ValueError, OverflowError):
        return match[0]
    first = _text(start, clock, with_offset=offset_of(start) != offset_of(end))
    last = _text(end, last_clock, with_offset=True)
    return f"{first} – {last.removeprefix(f'{start:%Y-%m-%d} ')}"


def _local(day: str, clock: str, zone: tzinfo) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC).astimezone(zone)


def _text(local: datetime, as_long_as: str, *, with_offset: bool) -> str:
    text = f"{local:%Y-%m-%d %H:%M:%S}"[: len("2026-11-21 ") + len(as_long_as)]
    return f"{text} {offset_of(local)}" if with_offset else text
