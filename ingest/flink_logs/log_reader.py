"""Turns the bytes of a log file into records, whatever their envelope and layout.

Each line is read by itself. Its envelope names its stream: one for each container and output. A
header of any known layout begins a record. Files in the declared layout without envelopes are not
split line by line, for speed.

Add an envelope to ``envelopes`` (of JSON: to ``json_records``), and a layout to ``layouts``. Add
its first characters to ``layouts._OTHER_LINES``, and a writer to
``tests/ingest/flink_logs/wrapped.py``.
"""

import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any
from zoneinfo import ZoneInfo

from ingest.flink_logs.cursors import FileCursor
from ingest.flink_logs.envelopes import Stripped, cloudwatch, cri, docker, match_prefixes
from ingest.flink_logs.json_records import JsonRecord, is_routine
from ingest.flink_logs.json_records import read as read_json
from ingest.flink_logs.layouts import Layout, LineLayouts, uncoloured
from ingest.flink_logs.names import day_of, process_of
from ingest.flink_logs.record_splitter import (
    MAX_RECORD_BYTES,
    Keep,
    RawRecord,
    RecordCounts,
    RecordSplitter,
)
from ingest.records import LogRecord, Skip
from ingest.redaction.texts import redact

MAX_DEPTH = 3
MAX_PREFIXES = 1024
MAX_STORED_PREFIXES, MAX_PREFIX_CHARS = 100, 300
EARLIER = -1
"""Offset of a prefix from an earlier reading."""

_WRAPPED_JSON = re.compile(
    rb'"(?:log|MESSAGE|line|@message|textPayload|LogMessage|LogEntry|content|_raw)" ?: ?"'
    rb'|"(?:kubernetes|stream|_source|jsonPayload|attributes|result)" ?:'
).search


class EnvelopeStripper:
    """``prefixes``: those that were before a record, each with the offset of its first line.
    ``at``: the offset of the current line.
    """

    def __init__(self, lines: LineLayouts, zone: ZoneInfo) -> None:
        self.prefixes: dict[str, int] = {}
        self.at = EARLIER
        self._lines, self._zone = lines, zone

    @staticmethod
    def may_wrap(block: bytes) -> bool:
        return _WRAPPED_JSON(block) is not None

    def stripped(self, line: bytes, outside: tuple[str, ...] = ()) -> Stripped | None:
        """``None`` without an envelope. ``outside``: kinds of the outer envelopes."""
        for outer in self._envelopes(line):
            if outer.envelope in outside:
                continue
            may_nest = len(outside) + 1 < MAX_DEPTH and not self._lines.own(outer.content)
            inner = self.stripped(outer.content, (*outside, outer.envelope)) if may_nest else None
            if inner is not None:
                process = "/".join(filter(None, (outer.process, inner.process)))
                inner = Stripped(
                    f"{outer.envelope}, {inner.envelope}",
                    process,
                    inner.stream or outer.stream,
                    inner.content,
                    inner.whole and outer.whole,
                    inner.stamp or outer.stamp,
                )
            prefix = f"{outer.envelope}\t{outer.process}"
            if outer.strict or prefix in self.prefixes:
                return inner or outer
            if inner is not None or self._begins_record(outer.content):
                if len(self.prefixes) < MAX_PREFIXES:
                    self.prefixes[prefix] = self.at
                return inner or outer
        return None

    def prefixes_before(self, offset: int) -> list[str]:
        return [
            prefix
            for prefix, at in self.prefixes.items()
            if at < offset and len(prefix) <= MAX_PREFIX_CHARS
        ][:MAX_STORED_PREFIXES]

    def _envelopes(self, line: bytes) -> Iterable[Stripped]:
        if line[:1] == b"{":
            if (docker_line := docker(line)) is not None:
                yield docker_line
            elif _WRAPPED_JSON(line):
                try:
                    record = read_json(line, self._zone)
                except ValueError:
                    return
                if isinstance(record, Stripped):
                    yield record
        elif (stripped := cri(line) or cloudwatch(line)) is not None:
            yield stripped
        else:
            yield from match_prefixes(line)

    def _begins_record(self, line: bytes) -> bool:
        if self._lines.have_header(line):
            return True
        try:
            return line[:1] == b"{" and isinstance(read_json(line, self._zone), JsonRecord)
        except ValueError:
            return False


KEPT_PLACES = 4096
StreamKey = tuple[str, str, str]


@dataclass(slots=True)
class LogStream:
    """The splitter's offset ``canonical[i]`` is the offset ``physical[i]`` of the file. Lines
    before ``floor`` were returned already. ``begun_at``: offset of the last record. ``partial``: a
    line that continues in another envelope. ``split_bytes``: what the splitter got.
    """

    key: StreamKey
    process: str
    layout: Layout
    splitter: RecordSplitter
    floor: int
    is_json: bool = False
    begun_at: int = -1
    partial: bytes = b""
    partial_at: int = -1
    split_bytes: int = 0
    canonical: list[int] = field(default_factory=list)
    physical: list[int] = field(default_factory=list)

    def file_offset(self, offset: int) -> int:
        index = bisect_right(self.canonical, offset) - 1
        return self.physical[index] + offset - self.canonical[index] if index >= 0 else offset

    def unfinished_at(self) -> int | None:

        offsets = []
        if self.splitter.pending:
            offsets.append(self.file_offset(self.splitter.resume_offset))
        if self.partial:
            offsets.append(self.partial_at)
        return min(offsets, default=None)

    def forget_places(self) -> None:
        if len(self.canonical) > KEPT_PLACES:
            count = max(bisect_right(self.canonical, self.splitter.resume_offset) - 1, 0)
            del self.canonical[:count], self.physical[:count]


MAX_LINE_BYTES = 1024 * 1024
MAX_STREAMS = 256
MAX_SKIPS = 50
MAX_SKIPS_EACH = 5

_PLAIN: StreamKey = ("", "", "")


class LogReader:
    """``layout`` is tried first. ``begin``: see ``resumption``."""

    def __init__(
        self,
        layout: Layout,
        zone: ZoneInfo,
        *,
        file: str,
        keep: Keep = "events",
        begin: FileCursor | None = None,
    ) -> None:
        begin = begin or FileCursor(file)
        self.skips: list[Skip] = []
        self._layout, self._zone, self._file, self._keep = layout, zone, file, keep
        self._process = process_of(file)
        self._counts = RecordCounts(begin.seen)
        self._floors = {
            (envelope, process_, stream): offset
            for envelope, process_, stream, offset in begin.streams
        }
        self._settled = begin.settled
        self._carry, self._carry_at = b"", begin.offset
        self._mid_line = begin.mid_record
        self._is_in_hole = begin.offset == 0 and not begin.mid_record
        self._ended_headers = 0
        self._skipped: Counter[str] = Counter()
        self._streams: OrderedDict[StreamKey, LogStream] = OrderedDict()
        self._lines = LineLayouts(layout, zone, day_of(file))
        self._stripper = EnvelopeStripper(self._lines, zone)
        self._stripper.prefixes = dict.fromkeys(begin.prefixes, EARLIER)
        self._out: list[tuple[str, RawRecord]] = []

    @property
    def headers(self) -> int:
        open_streams = (stream.splitter.headers for stream in self._streams.values())
        return self._ended_headers + sum(open_streams)

    @property
    def pending(self) -> bool:
        return bool(self._carry and not self._mid_line) or any(
            stream.unfinished_at() is not None for stream in self._streams.values()
        )

    @property
    def resume_offset(self) -> int:
        offsets = [stream.unfinished_at() for stream in self._streams.values()]
        return min([self._carry_at, *(offset for offset in offsets if offset is not None)])

    def resumption(self) -> dict[str, Any]:
        streams = [
            (*key, at)
            for key, stream in self._streams.items()
            if (at := stream.unfinished_at()) is not None
        ]
        cursor: dict[str, Any] = {
            "offset": self.resume_offset,
            "mid_record": self._mid_line and not streams,
            "pending": self.pending,
            "seen": self._counts.recent(),
        }
        if streams and len(self._streams) > 1:
            cursor |= {"settled": self._carry_at, "streams": streams}
        if prefixes := self._stripper.prefixes_before(self.resume_offset):
            cursor["prefixes"] = prefixes
        return cursor

    def learn(self, head: bytes) -> None:
        """Finds prefixes, and returns no records."""
        if not self._lines.are_own(head):
            for line in head.split(b"\n")[:-1]:
                if not self._lines.own(line):
                    self._stripper.stripped(line)

    def feed(self, data: bytes) -> list[LogRecord]:
        self._feed(data)
        return self._records()

    def close(self) -> list[LogRecord]:
        self._close()
        return self._records()

    def _feed(self, data: bytes) -> None:
        if self._is_in_hole:
            # After copy-and-truncate rotation, a writer goes on at its old position, after zeros.
            # Editors of Windows begin a file with a byte order mark.
            size = len(data)
            data = data.lstrip(b"\0").removeprefix(BOM_UTF8)
            self._carry_at += size - len(data)
            self._is_in_hole = not data
        if self._mid_line:
            end = data.find(b"\n") + 1
            self._carry_at += end or len(data)
            data = data[end:] if end else b""
            self._mid_line = not end
        cut = data.rfind(b"\n") + 1
        if cut:
            # Megabytes are copied once, not twice.
            block, self._carry = b"".join((self._carry, memoryview(data)[:cut])), data[cut:]
            at, self._carry_at = self._carry_at, self._carry_at + len(block)
            self._read_block(block, at)
        else:
            self._carry += data
        if len(self._carry) > MAX_LINE_BYTES:
            at, self._carry_at = self._carry_at, self._carry_at + len(self._carry)
            line, self._carry, self._mid_line = self._carry[:MAX_LINE_BYTES], b"", True
            self._read_block(line + b"\n", at)
        for stream in self._streams.values():
            unfinished_at = stream.unfinished_at()
            if unfinished_at is not None and self._carry_at - unfinished_at > MAX_RECORD_BYTES:
                self._end_record(stream)

    def _close(self) -> None:
        if self._carry:
            at, self._carry_at = self._carry_at, self._carry_at + len(self._carry)
            line, self._carry, self._mid_line = self._carry, b"", True
            self._read_block(line + b"\n", at)
        for stream in list(self._streams.values()):
            if stream.partial:
                self._split_lines(stream, [stream.partial], [stream.partial_at], [b""])
                stream.partial = b""
            self._end_record(stream)

    def _records(self) -> list[LogRecord]:
        out, self._out = self._out, []
        return [
            LogRecord(process, ts, level, logger, message, digest, ordinal, self._file, offset)
            for process, (ts, level, logger, message, digest, ordinal, offset) in out
        ]

    def _splitter(self, process: str, layout: Layout) -> RecordSplitter:
        return RecordSplitter(layout, self._zone, keep=self._keep, counts=self._counts)

    def _read_block(self, block: bytes, at: int) -> None:
        plain = self._streams.get(_PLAIN)
        if at < self._settled or self._stripper.prefixes or (plain and not self._is_own(plain)):
            self._read_lines(block, at)
        elif self._lines.are_own(block):
            stream = self._stream_of(_PLAIN)
            stream.canonical.append(stream.split_bytes)
            stream.physical.append(at)
            self._split(stream, block, at)
        elif not self._read_cri_lines(block, at):
            self._read_lines(block, at)

    def _read_cri_lines(self, block: bytes, at: int) -> bool:
        first = cri(block[:200])
        if first is None:
            return False
        lines = block[:-1].split(b"\n")
        parts = [line.split(b" ", 3) for line in lines]
        output = first.stream.encode()
        if not all(
            len(part) == 4 and part[2] == b"F" and part[1] == output and part[0][10:11] == b"T"
            for part in parts
        ):
            return False
        stream = self._stream_of((first.envelope, "", first.stream))
        if stream.partial:
            return False
        self._split_lines(
            stream, [part[3] for part in parts], _places(lines, at), [part[0] for part in parts]
        )
        return True

    def _read_lines(self, block: bytes, at: int) -> None:
        run: tuple[list[bytes], list[int], list[bytes]] = ([], [], [])
        previous: LogStream | None = None
        objects_are_bare = not self._stripper.may_wrap(block)
        for line, offset in self._lines_of(block, at, objects_are_bare):
            self._stripper.at = offset
            is_bare = (objects_are_bare and line[:1] == b"{") or self._lines.own(line)
            stripped = None if is_bare else self._stripper.stripped(line)
            content, stamp, key = line, b"", _PLAIN
            if stripped is not None:
                content, stamp = stripped.content, stripped.stamp
                key = stripped.envelope, stripped.process, stripped.stream
            stream = self._stream_of(key)
            if offset < stream.floor:
                continue
            if stripped is not None and stream.partial:
                content, offset = (stream.partial + content)[:MAX_LINE_BYTES], stream.partial_at
                stream.partial = b""
            if stripped is not None and not stripped.whole:
                stream.partial, stream.partial_at = content, offset
                continue
            if stream is not previous and run[0] and previous is not None:
                self._split_lines(previous, *run)
                run = ([], [], [])
            previous = stream
            run[0].append(content)
            run[1].append(offset)
            run[2].append(stamp)
        if previous is not None and run[0]:
            self._split_lines(previous, *run)

    def _lines_of(
        self, block: bytes, at: int, objects_are_bare: bool
    ) -> Iterable[tuple[bytes, int]]:
        lines = block[:-1].split(b"\n")
        return zip(lines, _places(lines, at), strict=True)

    def _bare_json(self, at: int) -> LogStream | None:
        """The stream without envelope, if each JSON object from ``at`` on is a record of it."""
        stream = self._streams.get(_PLAIN)
        if not stream or not stream.is_json or at < stream.floor or self._lines.may_begin_objects:
            return None
        return stream

    def _is_own(self, stream: LogStream) -> bool:
        return stream.layout is self._layout and not stream.is_json

    def _stream_of(self, key: StreamKey) -> LogStream:
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= MAX_STREAMS:
                _, oldest = self._streams.popitem(last=False)
                self._end_record(oldest)
                self._ended_headers += oldest.splitter.headers
            process = key[1] or self._process
            stream = LogStream(
                key,
                process,
                self._layout,
                self._splitter(process, self._layout),
                self._floors.get(key, self._settled),
            )
            self._streams[key] = stream
        elif len(self._streams) > 1:
            self._streams.move_to_end(key)
        return stream

    def _split_lines(
        self,
        stream: LogStream,
        lines: Sequence[bytes],
        offsets: Sequence[int],
        stamps: Sequence[bytes],
    ) -> None:
        block = b"\n".join(lines) + b"\n"
        if self._is_own(stream) and self._lines.are_own(block):
            stream.canonical.extend(_places(lines, stream.split_bytes))
            stream.physical.extend(offsets)
            self._split(stream, block, offsets[0])
            return
        batch: list[bytes] = []
        batch_bytes = 0
        for line, at, stamp in zip(lines, offsets, stamps, strict=True):
            layout, line = self._lines.of(line, stamp)
            if layout is None:
                if stream.is_json and self._keep != "all" and is_routine(line):
                    stream.splitter.headers += 1
                    continue
                if line[:1] == b"{" and self._read_json_line(stream, line, at, batch, stamp):
                    batch, batch_bytes = [], 0
                    continue
                if stream.is_json or stream.begun_at < 0 or at - stream.begun_at > MAX_RECORD_BYTES:
                    continue
                if stream.layout is not self._layout:
                    line = uncoloured(line)
            else:
                if layout is not stream.layout or stream.is_json:
                    self._split(stream, b"".join(batch))
                    batch, batch_bytes = [], 0
                    self._switch(stream, layout)
                stream.begun_at = at
                stream.canonical.append(stream.split_bytes + batch_bytes)
                stream.physical.append(at)
            batch += [line, b"\n"]
            batch_bytes += len(line) + 1
        self._split(stream, b"".join(batch))
        if self._lines.undated:
            self._skip(
                "no_date",
                "Its times have no date; name the file by its day, such as "
                "jobmanager-2026-11-21.log.",
                1,
            )

    def _read_json_line(
        self, stream: LogStream, line: bytes, at: int, batch: Sequence[bytes], stamp: bytes
    ) -> bool:
        try:
            json_record = read_json(line, self._zone, stamp)
        except ValueError as error:
            if not stream.is_json:
                return False
            self._skip(
                "bad_json",
                f"The line at byte {at} is no JSON that can be read ({str(error)[:100]}) and "
                "was skipped.",
            )
            return True
        if not isinstance(json_record, JsonRecord):
            return False
        self._split(stream, b"".join(batch))
        if json_record.process and json_record.process != stream.process:
            stream = self._stream_of((stream.key[0], json_record.process, stream.key[2]))
            if at < stream.floor:
                return True
        if not stream.is_json:
            self._switch(stream, stream.layout)
            stream.is_json = True
        record = stream.splitter.make_record(
            json_record.ts, json_record.level, json_record.logger, json_record.message, line, at
        )
        if record is not None:
            self._out.append((stream.process, record))
        return True

    def _switch(self, stream: LogStream, layout: Layout) -> None:
        self._end_record(stream)
        self._ended_headers += stream.splitter.headers
        stream.layout, stream.is_json = layout, False
        stream.splitter = self._splitter(stream.process, layout)
        stream.split_bytes, stream.begun_at = 0, -1
        stream.canonical, stream.physical = [], []

    def _split(self, stream: LogStream, block: bytes, begun_at: int | None = None) -> None:
        if block:
            stream.split_bytes += len(block)
            self._collect(stream, stream.splitter.take(block))
            stream.forget_places()
            if begun_at is not None:
                unfinished_at = stream.unfinished_at()
                stream.begun_at = begun_at if unfinished_at is None else unfinished_at

    def _end_record(self, stream: LogStream) -> None:
        self._collect(stream, stream.splitter.end())

    def _collect(self, stream: LogStream, records: list[RawRecord]) -> None:
        for offset in stream.splitter.cut:
            detail = (
                f"The record at byte {stream.file_offset(offset)} is longer than "
                f"{MAX_RECORD_BYTES} bytes; the rest was cut off."
            )
            self._skip("long_line", detail, MAX_SKIPS)
        stream.splitter.cut.clear()
        self._out += [
            (stream.process, (*record[:-1], stream.file_offset(record[-1]))) for record in records
        ]

    def _skip(self, reason: str, detail: str, most: int = MAX_SKIPS_EACH) -> None:
        self._skipped[reason] += 1
        if self._skipped[reason] <= most:
            self.skips.append(Skip(redact(self._file), reason, detail))


def _places(lines: Sequence[bytes], first: int) -> list[int]:
    return list(accumulate((len(line) + 1 for line in lines[:-1]), initial=first))
