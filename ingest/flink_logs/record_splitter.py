"""Bytes of one log file → records, each with its stack trace, in bounded memory.

A record reaches from its header to the next one. Its text is those bytes without trailing line ends, cut at
256 KiB; ``record_hash`` is the start of the SHA-256 of exactly these bytes. In the message, what is not UTF-8
and NULs become U+FFFD and CRLF becomes LF.
``ordinal`` counts records of equal time and hash within one file.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal
from zoneinfo import ZoneInfo

from ingest.flink_logs.layouts import Layout
from ingest.flink_logs.patterns import KEPT_LEVELS, contained, starts
from ingest.records import LogRecord, Skip
from ingest.redaction.texts import redact

MAX_RECORD_BYTES = 256 * 1024
MAX_SKIPS = 50
REMEMBERED = 20_000
"""Distinct records whose repetitions are counted at a time."""
RECENT_WITHIN_MS = 100
MAX_RECENT = 32

Keep = Literal["events", "all"]
RecordCount = tuple[int, str, int]
"""Epoch ms, hash and count of a record already returned: what a later reading of the file must know."""
RawRecord = tuple[datetime, str, str, str, str, int, int]
"""Time, level, logger, message, hash, ordinal and offset of a record."""

_STARTS = tuple(text.encode() for text in starts())
_SURE_BYTES = min(map(len, _STARTS))
_BY_OPENING = {opening: tuple(text for text in _STARTS if text.startswith(opening)) for opening in {text[:_SURE_BYTES] for text in _STARTS}}
_CONTAINED = tuple(text.encode() for text in contained())
_LEVELS = frozenset(level.encode() for level in KEPT_LEVELS)


class RecordSplitter:
    """Feed it the bytes of a file in order; it returns the records that are complete.

    ``keep`` is ``events``: what the pattern table may read and everything from WARN up (a tenth of a usual
    INFO log and a hundredth of a DEBUG one), or ``all``. ``mid_record`` says that ``offset`` is not the
    start of a line: everything up to the next header is dropped.

    ``headers`` counts the records that began.
    """

    def __init__(
        self, layout: Layout, zone: ZoneInfo, *, file: str, process: str, keep: Keep = "events",
        offset: int = 0, mid_record: bool = False, recent: Iterable[RecordCount] = (),
    ) -> None:  # fmt: skip
        self.skips: list[Skip] = []
        self.headers = 0
        self._layout = layout
        self._zone = zone
        self._file = file
        self._process = process
        self._keep_all = keep == "all"
        self._opening = layout.opening.encode()
        self._separator = b"\n" + self._opening
        self._header = re.compile(layout.header.encode())
        self._groups = tuple(layout.group(name) for name in ("second", "fraction", "level", "logger"))
        self._carry = b""
        self._carry_offset = offset
        self._begun = mid_record
        self._skipping = mid_record
        self._at_file_start = offset == 0 and not mid_record
        self._open: list[bytes] = []
        self._open_size = 0
        self._open_offset = offset
        self._open_header: tuple[datetime, bytes, bytes, int] | None = None
        self._seconds: dict[bytes, datetime | None] = {}
        self._texts: dict[bytes, str] = {}
        self._counts: dict[str, tuple[int, datetime]] = {key: (count, _EPOCH + timedelta(milliseconds=ms)) for ms, key, count in recent}

    @property
    def resume_offset(self) -> int:
        """Where a later reading must begin, so that nothing that is still incomplete is lost."""
        if self.resumes_mid_record:
            return self._carry_offset
        return self._open_offset if self._open else self._carry_offset

    @property
    def resumes_mid_record(self) -> bool:
        """Whether that is inside of a record of which everything that is kept was returned."""
        return self._skipping

    @property
    def pending(self) -> bool:
        """Whether bytes were read that belong to a record not returned yet."""
        return bool(self._open or self._carry) and not self._skipping

    def recent_counts(self) -> list[RecordCount]:
        """Counts of the newest records, for the next reading of this file: equal ones come close together or never."""
        newest = max((ts for _, ts in self._counts.values()), default=_EPOCH) - timedelta(milliseconds=RECENT_WITHIN_MS)
        close = [(int((ts - _EPOCH) / _MS), key, count) for key, (count, ts) in self._counts.items() if ts >= newest]
        return close[-MAX_RECENT:]

    def feed(self, data: bytes) -> list[LogRecord]:
        """Take the next bytes; returns the records that they complete."""
        return self._records(self._feed(data))

    def close(self) -> list[LogRecord]:
        """The file is taken to have ended: returns the last record. Whatever is fed or resumed later is mid-record."""
        return self._records(self._close())

    def _records(self, raw_records: list[RawRecord]) -> list[LogRecord]:
        process, file = self._process, self._file
        return [
            LogRecord(process, ts, level, logger, message, digest, ordinal, file, offset)
            for ts, level, logger, message, digest, ordinal, offset in raw_records
        ]

    def _feed(self, data: bytes) -> list[RawRecord]:
        buffer = self._carry + data
        out: list[RawRecord] = []
        if self._at_file_start:
            # Copy-and-truncate rotation leaves a hole where a writer goes on at its old position.
            hole = len(buffer) - len(buffer.lstrip(b"\0"))
            buffer, self._carry_offset, self._carry = buffer[hole:], self._carry_offset + hole, b""
        if not self._begun:
            if len(buffer) < len(self._opening):
                self._carry = buffer
                return out
            self._begun, self._at_file_start = True, False
            if buffer.startswith(self._opening):
                buffer = buffer[len(self._opening) :]
            else:
                self._skipping = True
        if self._skipping:
            found = buffer.find(self._separator)
            if found < 0:
                kept = len(self._separator) - 1
                tail = buffer[max(len(buffer) - kept, 0) :]
                self._carry_offset += len(buffer) - len(tail)
                self._carry = tail
                return out
            self._skipping = False
            self._carry_offset += found + 1
            buffer = buffer[found + len(self._separator) :]
        parts = buffer.split(self._separator)
        self._carry = parts.pop()
        self._take(parts, out)
        if self._open and self._begins_record(self._carry):
            self._emit(out)
        if len(self._carry) > MAX_RECORD_BYTES + len(self._separator):
            self._cut(out)
        return out

    def _close(self) -> list[RawRecord]:
        out: list[RawRecord] = []
        end = self._carry_offset + len(self._carry)
        if self._begun and not self._skipping:
            end += len(self._opening)
            self._take([self._carry], out)
            self._emit(out)
        kept = len(self._separator) - 1
        self._carry, self._carry_offset = b"", max(end - kept, 0)
        self._begun = self._skipping = True
        return out

    def _take(self, parts: Sequence[bytes], out: list[RawRecord]) -> None:
        """Parts in file order, each behind a separator and complete."""
        match_header = self._header.match
        seconds = self._seconds
        second_group, fraction_group, level_group, logger_group = self._groups
        step = len(self._separator)
        keep_all = self._keep_all
        by_opening = _BY_OPENING
        offset = self._carry_offset
        for part in parts:
            match = match_header(part)
            instant = None
            if match:
                second = match[second_group]
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
                openings = by_opening.get(part[start : start + _SURE_BYTES])
                if (openings and part.startswith(openings, start)) or level in _LEVELS or keep_all or _holds_piece(part, start):
                    if fraction_group:
                        digits = match[fraction_group]
                        instant += _MILLISECONDS.get(digits) or _fraction(digits)
                    self._open_header = (instant, level, match[logger_group] if logger_group else b"", start)
                else:
                    self._open_header = None
                self._open = [part]
                self._open_size = len(part)
                self._open_offset = offset
            offset += len(part) + step
        self._carry_offset = offset

    def _begins_record(self, part: bytes) -> bool:
        match = self._header.match(part)
        return match is not None and self._instant(match[self._groups[0]]) is not None

    def _continue(self, part: bytes) -> None:
        """A part without a header is more of the record before it; before the first header it is dropped."""
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
            self._skip(
                "long_line", f"The record at byte {self._open_offset} is longer than {MAX_RECORD_BYTES} bytes; the rest was cut off."
            )
        if body[-1:] in (b"\n", b"\r"):
            body = body.rstrip(b"\r\n")
        digest = sha256(self._opening + body).hexdigest()[:32]
        message = body[start:].decode("utf-8", "replace")
        if "\r" in message:
            message = message.replace("\r\n", "\n")
        if "\0" in message:
            message = message.replace("\0", "\ufffd")
        ordinal = self._ordinal(digest, instant)
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

    def _ordinal(self, digest: str, instant: datetime) -> int:
        """Equal texts have equal times: the header is part of them."""
        ordinal = self._counts[digest][0] if digest in self._counts else 0
        self._counts[digest] = ordinal + 1, instant
        if len(self._counts) > 2 * REMEMBERED:
            self._counts = dict(list(self._counts.items())[-REMEMBERED:])
        return ordinal

    def _cut(self, out: list[RawRecord]) -> None:
        """A record too long to be held: take its beginning now and pass over the rest."""
        kept = len(self._separator) - 1
        head, tail = self._carry[: len(self._carry) - kept], self._carry[len(self._carry) - kept :]
        end = self._carry_offset + len(self._opening) + len(head)
        self._take([head], out)
        self._emit(out)
        self._carry, self._carry_offset, self._skipping = tail, end, True

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

    def _skip(self, reason: str, detail: str) -> None:
        if len(self.skips) < MAX_SKIPS:
            self.skips.append(Skip(redact(self._file), reason, detail))


def _holds_piece(part: bytes, start: int) -> bool:
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
