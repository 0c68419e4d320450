"""The time zone in which a page shows instants and reads those without a zone: UTC, unless the user
chose another one. It is in a context variable. Tasks, commands and the API use UTC.
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
_UTC_INSTANTS = re.compile(rf"\b({_DAY}) ({_CLOCK})(?: – (?:({_DAY}) )?({_CLOCK}))? UTC\b")
_ZERO = timedelta()


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
    if name in _UTC_NAMES:
        return UTC
    return zoneinfo.ZoneInfo(name) if name in names() else None


@cache
def names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def label() -> str:
    """For headings: 'UTC', '+08:00' for a zone with a fixed offset, or the name of another zone,
    whose offset differs by row.
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
    """'UTC' or the IANA name."""
    zone = current()
    return zone.key if isinstance(zone, zoneinfo.ZoneInfo) else "UTC"


def offset_text(instant: datetime) -> str:
    """'UTC', or '+08:00' in another zone: abbreviations such as CST are ambiguous."""
    zone = current()
    return "UTC" if zone is UTC else offset_of(instant.astimezone(zone))


def offset_of(local: datetime) -> str:
    """'+08:00' of an instant in a zone."""
    offset = local.utcoffset() or _ZERO
    minutes = round(abs(offset) / timedelta(minutes=1))
    return f"{'-' if offset < _ZERO else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def is_twice(local: datetime) -> bool:
    """Whether this local time occurs twice, since clocks are set back."""
    return local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()


def rewritten(text: object) -> str:
    """``text`` with UTC instants converted to the shown zone: '2026-11-21 04:10:31 UTC',
    '2026-11-21 04:10 – 10:09 UTC' and '2026-11-21 04:10 – 2026-11-22 10:09 UTC'.
    """
    zone = current()
    if zone is UTC:
        return str(text)
    return _UTC_INSTANTS.sub(lambda match: _convert(match, zone), str(text))


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


def _text(local: datetime, clock: str, *, with_offset: bool) -> str:
    """With seconds if ``clock``, the time of day in the original text, has them."""
    text = f"{local:%Y-%m-%d %H:%M:%S}"[: len("2026-11-21 ") + len(clock)]
    return f"{text} {offset_of(local)}" if with_offset else text
