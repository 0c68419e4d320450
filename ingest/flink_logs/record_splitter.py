"""Turns lines of one process into records, each with its stack trace, in bounded memory.

The text of a record is its bytes up to the next header, without trailing line ends, cut at 256 KiB.
``record_hash`` is the start of the SHA-256 of this text. In the message, NULs and bytes that are not
UTF-8 become U+FFFD, and CRLF becomes LF. ``ordinal`` counts records of equal time and hash within
one file.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import Literal
from zoneinfo import ZoneInfo

from ingest.flink_logs.layouts import Layout
from ingest.flink_logs.patterns import KEPT_LEVELS, contained, starts

MAX_RECORD_BYTES = 256 * 1024
MAX_REMEMBERED = 20_000
RECENT_WITHIN_MS = 100
MAX_RECENT = 32

Keep = Literal["events", "all"]
RecordCount = tuple[int, str, int]
RawRecord = tuple[datetime, str, str, str, str, int, int]
"""Time, level, logger, message, hash, ordinal, offset."""

_OPENING_BYTES = min(map(len, starts()))
_BY_OPENING_OF_TEXT = {
    opening: tuple(text for text in starts() if text.startswith(opening))
    for opening in {text[:_OPENING_BYTES] for text in starts()}
}
_BY_OPENING = {
    opening.encode("ascii"): tuple(text.encode("ascii") for text in texts)
    for opening, texts in _BY_OPENING_OF_TEXT.items()
}
_CONTAINED = tuple(text.encode() for text in contained())
_ANY_CONTAINED = re.compile("|".join(map(re.escape, contained()))).search
_LEVELS = frozenset(level.encode() for level in KEPT_LEVELS)


class RecordCounts:
    def __init__(self, recent: Iterable[RecordCount] = ()) -> None:
        self._counts: dict[str, tuple[int, datetime]] = {
            key: (count, _EPOCH + timedelta(milliseconds=ms)) for ms, key, count in recent
        }
        self._last: datetime | None = None

    def ordinal(self, digest: str, instant: datetime) -> int:
        ordinal = self._counts[digest][0] if digest in self._counts else 0
        self._counts[digest] = ordinal + 1, instant
        self._last = instant
        self._forget()
        return ordinal

    def ordinals(self, digests: Sequence[str], instant: datetime) -> list[int]:
        distinct = dict.fromkeys(digests, (1, instant))
        if len(distinct) < len(digests) or not self._counts.keys().isdisjoint(distinct):
            return [self.ordinal(digest, instant) for digest in digests]
        self._counts |= distinct
        self._last = instant
        self._forget()
        return [0] * len(digests)

    def recent(self) -> list[RecordCount]:
        """Counts for the next reading of this file: those near the end, since equal records are
        close together.
        """
        margin = timedelta(milliseconds=RECENT_WITHIN_MS)
        newest = max((ts for _, ts in self._counts.values()), default=_EPOCH)
        last = self._last or newest
        recent = (
            (key, count, ts)
            for key, (count, ts) in self._counts.items()
            if ts >= newest - margin or abs(ts - last) <= margin
        )
        recent_counts = [(int((ts - _EPOCH) / _MS), key, count) for key, count, ts in recent]
        return recent_counts[-MAX_RECENT:]

    def _forget(self) -> None:
        if len(self._counts) > 2 * MAX_REMEMBERED:
            newest = islice(self._counts.items(), len(self._counts) - MAX_REMEMBERED, None)
            self._counts = dict(newest)


class RecordSplitter:
    """Takes the lines of one process, in one layout and in order.

    ``keep`` is ``all`` or ``events``: records that the pattern table may read, and all from WARN
    up. ``headers``: number of records. ``cut``: offsets of records that were too long. Offsets are
    those in all lines that ``take`` got.
    """

    def __init__(
        self,
        layout: Layout,
        zone: ZoneInfo,
        *,
        keep: Keep = "events",
        counts: RecordCounts | None = None,
    ) -> None:
        self.headers = 0
        self.cut: list[int] = []
        self._layout = layout
        self._zone = zone
        self._counts = counts or RecordCounts()
        self._keep_all = keep == "all"
        self._opening = layout.opening.encode()
        self._separator = b"\n" + self._opening
        self._header = re.compile(layout.header.encode())
        self._groups = tuple(
            layout.group(name) for name in ("second", "fraction", "level", "logger")
        )
        self._offset_group = layout.group("offset")
        self._carry = b""
        self._carry_offset = 0
        self._begun = False
        self._open: list[bytes] = []
        self._open_size = 0
        self._open_offset = 0
        self._open_header: tuple[datetime, bytes, bytes, int] | None = None
        self._seconds: dict[bytes, datetime | None] = {}
        self._texts: dict[bytes, str] = {}

    @property
    def resume_offset(self) -> int:
        return self._open_offset if self._open else self._carry_offset

    @property
    def pending(self) -> bool:
        return bool(self._open or self._carry)

    def take(self, lines: bytes) -> list[RawRecord]:
        out: list[RawRecord] = []
        if not self._begun:
            begins = self._first_header(lines)
            self._begun = begins < len(lines)
            self._carry_offset += begins
            lines = lines[begins + len(self._opening) :]
        if not self._begun:
            return out
        self._carry = self._take_all_but_last(self._carry + lines, out)
        if self._open and self._begins_record(self._carry):
            self._emit(out)
        return out

    def end(self) -> list[RawRecord]:
        out: list[RawRecord] = []
        if self._begun:
            end = self._carry_offset + len(self._opening) + len(self._carry)
            self._take([self._carry], out)
            self._emit(out)
            self._carry, self._carry_offset, self._begun = b"", end, False
        return out

    def make_record(
        self, instant: datetime, level: str, logger: str, message: str, record: bytes, offset: int
    ) -> RawRecord | None:
        self.headers += 1
        if not (self._keep_all or level in KEPT_LEVELS or _text_may_be_read(message)):
            return None
        digest = sha256(record).hexdigest()[:32]
        text = message.replace("\r\n", "\n").replace("\0", "\ufffd")[:MAX_RECORD_BYTES]
        return instant, level, logger, text, digest, self._counts.ordinal(digest, instant), offset

    def _take_all_but_last(self, lines: bytes, out: list[RawRecord]) -> bytes:
        parts = lines.split(self._separator)
        last = parts.pop()
        self._take(parts, out)
        return last

    def _take(self, parts: Sequence[bytes], out: list[RawRecord]) -> None:
        match_header = self._header.match
        seconds = self._seconds
        second_group, fraction_group, level_group, logger_group = self._groups
        offset_group = self._offset_group
        step = len(self._separator)
        keep_all = self._keep_all
        by_opening = _BY_OPENING
        offset = self._carry_offset
        for part in parts:
            match = match_header(part)
            instant = None
            if match:
                second = match[second_group]
                if offset_group:
                    second += match[offset_group] or b""
                instant = seconds.get(second)
                if instant is None and second not in seconds:
                    instant = self._instant(second)
            if match is None or instant is None:
                self._continue(part)
            else:
                if self._open_header and self._open:
                    self._emit(out)
                self.headers += 1
                start = match.end()
                level = match[level_group] if level_group else b"UNKNOWN"
                openings = by_opening.get(part[start : start + _OPENING_BYTES])
                if (
                    (openings and part.startswith(openings, start))
                    or level in _LEVELS
                    or keep_all
                    or _has_piece(part, start)
                ):
                    if fraction_group and (digits := match[fraction_group]):
                        instant += _MILLISECONDS.get(digits) or _fraction(digits)
                    self._open_header = (
                        instant,
                        level,
                        match[logger_group] if logger_group else b"",
                        start,
                    )
                else:
                    self._open_header = None
                self._open = [part]
                self._open_size = len(part)
                self._open_offset = offset
            offset += len(part) + step
        self._carry_offset = offset

    def _first_header(self, lines: bytes) -> int:
        begins = (
            0 if lines.startswith(self._opening) else lines.find(self._separator) + 1 or len(lines)
        )
        while begins < len(lines):
            end = lines.find(b"\n", begins)
            if self._begins_record(
                lines[begins + len(self._opening) : end if end >= 0 else len(lines)]
            ):
                break
            begins = lines.find(self._separator, begins) + 1 or len(lines)
        return begins

    def _begins_record(self, part: bytes) -> bool:
        match = self._header.match(part)
        offset = match[self._offset_group] if match and self._offset_group else None
        return (
            match is not None
            and self._instant(match[self._groups[0]] + (offset or b"")) is not None
        )

    def _continue(self, part: bytes) -> None:
        if self._open and self._open_size < MAX_RECORD_BYTES:
            self._open += [self._separator, part]
            self._open_size += len(self._separator) + len(part)

    def _emit(self, out: list[RawRecord]) -> None:
        opened, header = self._open, self._open_header
        self._open = []
        if not opened or header is None:
            return
        instant, level, logger, start = header
        body = opened[0] if len(opened) == 1 else b"".join(opened)
        limit = MAX_RECORD_BYTES - len(self._opening)
        if len(body) > limit:
            body = body[:limit]
            self.cut.append(self._open_offset)
        if body[-1:] in (b"\n", b"\r"):
            body = body.rstrip(b"\r\n")
        digest = sha256(self._opening + body).hexdigest()[:32]
        message = body[start:].decode("utf-8", "replace")
        if "\r" in message:
            message = message.replace("\r\n", "\n")
        if "\0" in message:
            message = message.replace("\0", "\ufffd")
        ordinal = self._counts.ordinal(digest, instant)
        texts = self._texts
        out.append(
            (
                instant,
                texts.get(level) or self._text(level),
                texts.get(logger) or self._text(logger),
                message,
                digest,
                ordinal,
                self._open_offset,
            )
        )

    def _instant(self, second: bytes) -> datetime | None:
        if second in self._seconds:
            return self._seconds[second]
        instant = self._layout.instant(second.decode("latin-1"), self._zone)
        if len(self._seconds) > 100_000:
            self._seconds.clear()
        self._seconds[second] = instant
        return instant

    def _text(self, raw: bytes) -> str:
        text = self._texts.get(raw)
        if text is None:
            text = raw.decode("utf-8", "replace").replace("\0", "\ufffd")
            if len(self._texts) < 10_000:
                self._texts[raw] = text
        return text


def may_be_read(line: bytes, message_at: int) -> bool:
    openings = _BY_OPENING.get(line[message_at : message_at + _OPENING_BYTES])
    return (openings is not None and line.startswith(openings, message_at)) or _has_piece(
        line, message_at
    )


def _text_may_be_read(message: str) -> bool:
    openings = _BY_OPENING_OF_TEXT.get(message[:_OPENING_BYTES])
    return (openings is not None and message.startswith(openings)) or _ANY_CONTAINED(
        message.partition("\n")[0]
    ) is not None


def _has_piece(part: bytes, start: int) -> bool:
    end = part.find(b"\n", start)
    line = part[start:] if end < 0 else part[start:end]
    for piece in _CONTAINED:  # noqa: SIM110 - a generator here costs as much as all the searches
        if piece in line:
            return True
    return False


def _fraction(digits: bytes) -> timedelta:
    return _MILLISECONDS[digits.ljust(3, b"0")[:3]]


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_MS = timedelta(milliseconds=1)
_MILLISECONDS = {b"%03d" % ms: timedelta(milliseconds=ms) for ms in range(1000)}
