"""Recorded bytes as they would have been at another time: instants are moved, ids and names of jobs
replaced, in the text of answers and log lines. An instant is a whole number of 13 digits (epoch ms)
within a day of the recording, or the time at the beginning of a log line.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256

AROUND_MS = 24 * 3600 * 1000
"""A number is an instant of the recording if it is no further from it.

A size taken for one would be 1.8 TB.
"""

_MILLIS = rb"(?<![\w.])\d{13}(?!\w|\.\d)"
_LINE_TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")
_LINE_FORMAT = "%Y-%m-%d %H:%M:%S,%f"


@dataclass(frozen=True)
class Shift:
    """``by_ms`` may be negative; ``recorded_ms`` is about when it was recorded; ``names`` what is
    replaced by what.
    """

    by_ms: int
    recorded_ms: int
    names: Mapping[bytes, bytes]

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        longest_first = sorted(self.names, key=len, reverse=True)
        return re.compile(b"|".join([_MILLIS, *map(re.escape, longest_first)]))

    def text(self, recorded: bytes) -> bytes:
        return self._pattern.sub(self._replaced, recorded)

    def line(self, recorded: bytes) -> bytes:
        """A log line; one without a time of its own, as of a stack trace, keeps its beginning."""
        at_ms = line_ms(recorded)
        if at_ms is None:
            return self.text(recorded)
        return _line_time(at_ms + self.by_ms) + self.text(recorded[23:])

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        number = match[0]
        if number in self.names:
            return self.names[number]
        at_ms = int(number)
        return (
            str(at_ms + self.by_ms).encode()
            if abs(at_ms - self.recorded_ms) <= AROUND_MS
            else number
        )


def line_ms(line: bytes) -> int | None:
    """Epoch ms of the time, in UTC, that a log line begins with."""
    match = _LINE_TIME.match(line)
    if not match:
        return None
    try:
        at = datetime.strptime(match[0].decode() + "000", _LINE_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(at.timestamp() * 1000)


def id_of(recorded_id: str, began_ms: int) -> str:
    """The id of the same job in the turn that began then: another for each, and again the same
    after a restart.
    """
    return sha256(f"{recorded_id} {began_ms}".encode()).hexdigest()[:32]


def _line_time(at_ms: int) -> bytes:
    at = datetime.fromtimestamp(at_ms // 1000, UTC) + timedelta(milliseconds=at_ms % 1000)
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}".encode()
