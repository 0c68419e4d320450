from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.errors import Refused

CLOCK_SKEW = timedelta(minutes=5)

_NAMES = ("mtime", "LastModified", "last_modified", "modified", "modification_time")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_nanoseconds(nanoseconds: int) -> datetime | None:
    """Cut to milliseconds. ``None`` outside the years 1 to 9999: times may be forged."""
    try:
        return _EPOCH + timedelta(milliseconds=nanoseconds // 1_000_000)
    except OverflowError:
        return None


def cut(instant: datetime | None) -> datetime | None:
    return instant and instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def refuse_future(instant: datetime, now: datetime, what: str) -> datetime:
    """Raises ``Refused`` if a listing began in the future: its files would look older."""
    if instant > now + CLOCK_SKEW:
        raise Refused(
            f"{what} is {instant.isoformat()}, but now it is {now.isoformat(timespec='seconds')}: "
            "a listing cannot have begun in the future. Give the instant it began, or set the "
            "clock; what deleting later would do is what the simulation of an age rule shows."
        )
    return instant


def modified_at(info: Mapping[str, Any]) -> datetime | None:
    """The time in fsspec's ``info`` or ``ls``, in UTC. ``None`` if there is none, or if Python
    cannot represent it.
    """
    for name in _NAMES:
        value = info.get(name)
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, int | float):
            try:
                return datetime.fromtimestamp(value, UTC)
            except (ValueError, OverflowError, OSError):
                return None
    return None
