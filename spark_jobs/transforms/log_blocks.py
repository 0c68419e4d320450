"""Blocks of log files → records. A record is of the block in which it begins."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, pairwise
from operator import itemgetter
from typing import IO, Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.flink_logs.cursors import FileCursor
from ingest.flink_logs.files import UNREADABLE, LogFile, open_unpacked, unreadable
from ingest.flink_logs.layouts import Layout
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import is_packed
from ingest.flink_logs.record_splitter import MAX_RECORD_BYTES, Keep, RawRecord, RecordSplitter
from spark_jobs.arrow_schemas import schema
from spark_jobs.transforms import json_lines, whole_records

BLOCK_BYTES = 16 * 1024 * 1024
"""Small, so that no core waits long for the last block of another core."""
READ_BYTES = 2 * 1024 * 1024
READ_ON_BYTES = 64 * 1024
LEARNED_BYTES = 64 * 1024
"""Envelopes of lines are learned from these bytes."""
LEARNED_BEHIND_BYTES = 4 * 1024
"""Bytes that complete the line in which a block begins: envelopes are learned from this line, too."""

MOST_CHANGES = 20
"""With more changes between whole records and others, whole columns are slower."""

RECORDS = schema(
    ts="instant",
    **dict.fromkeys(("level", "logger", "message", "record_hash"), "text"),
    **dict.fromkeys(("ordinal", "offset"), "int"),
    **dict.fromkeys(("process", "file"), "text"),
    headers="int",
    failure="text",
)
"""``ordinal`` counts within a block. Each block also has a row without ``record_hash``: how many
``headers`` were seen, perhaps some behind the block, and why it could not be read to its end.
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A packed file is a single block."""

    path: str
    begin: int
    end: int


def shares(files: Iterable[LogFile], block_bytes: int = BLOCK_BYTES) -> list[list[Block]]:
    """Shares of about the size of one block, one for each task."""
    shares: list[list[Block]] = []
    free_bytes = 0
    for file in files:
        # A packed file cannot be read from its middle.
        step = sys.maxsize if is_packed(file.path) else block_bytes
        for begin in range(0, file.size, step):
            end = step if is_packed(file.path) else min(begin + step, file.size)
            size = min(end - begin, file.size)
            if free_bytes < size or not shares:
                shares.append([])
                free_bytes = block_bytes
            shares[-1].append(Block(file.path, begin, end))
            free_bytes -= size
    return shares


def record_batches(
    blocks: Iterable[Block], layout: Layout, zone: ZoneInfo, keep: Keep
) -> Iterator[pa.RecordBatch]:
    """``RECORDS`` of the blocks. A bad file only has a ``failure``."""
    for block in blocks:
        reader = BlockReader(block, layout, zone, keep)
        failure = None
        try:
            with open_unpacked(block.path) as stream:
                for rows in reader.read(stream):
                    if rows.num_rows:
                        yield rows
        except UNREADABLE as error:
            failure = unreadable(block.path, error).detail
        yield reader.counts(failure)


class BlockReader(LogReader):
    def __init__(self, block: Block, layout: Layout, zone: ZoneInfo, keep: Keep) -> None:
        self._pending: list[pa.RecordBatch] = []
        self._one_by_one = False
        # The byte before the block shows whether a line begins with the block.
        begin = FileCursor(block.path, offset=max(block.begin - 1, 0), mid_record=block.begin > 0)
        super().__init__(
            layout, zone, file=block.path.removeprefix("file://"), keep=keep, begin=begin
        )
        self._block = block

    def read(self, stream: IO[bytes]) -> Iterator[pa.RecordBatch]:
        position, end = self.resume_offset, self._block.end
        if not self._block.begin:
            # Copy-and-truncate rotation may leave a hole of any size. The text behind it belongs to
            # the first block.
            position = self._carry_at = _hole_bytes(stream)
            end = max(end, position + 1)
        else:
            head = stream.read(LEARNED_BYTES)
            if self._block.begin > len(head):
                self.learn(head)
                self._learn_before(stream)
            else:
                # The line in which the block begins is included.
                self.learn(head[: head.find(b"\n", self._block.begin - 1) + 1])
        stream.seek(position)
        while data := stream.read(min(READ_BYTES, end - position)):
            position += len(data)
            self._feed(data)
            yield self._batch()
        self._one_by_one = True
        bytes_left = MAX_RECORD_BYTES + READ_ON_BYTES
        while self.resume_offset < end and bytes_left > 0 and (data := stream.read(READ_ON_BYTES)):
            bytes_left -= len(data)
            self._feed(data)
            yield self._batch(end)
        if self.resume_offset < end:
            self._close()
            yield self._batch(end)

    def _learn_before(self, stream: IO[bytes]) -> None:
        """Learns from the lines just before: a container may first print there."""
        first = max(self._block.begin - LEARNED_BYTES, LEARNED_BYTES)
        size = self._block.begin - first
        stream.seek(first - 1)
        text = stream.read(size + 1 + LEARNED_BEHIND_BYTES)
        line_end = text.find(b"\n", size)
        self.learn(text[text.find(b"\n") + 1 : line_end + 1 if line_end >= 0 else size + 1])

    def counts(self, failure: str | None) -> pa.RecordBatch:
        row = {
            "process": self._process,
            "file": self._file,
            "headers": self.headers,
            "failure": failure,
        }
        return pa.RecordBatch.from_pylist([row], RECORDS)

    def _lines_of(
        self, block: bytes, at: int, objects_are_bare: bool
    ) -> Iterable[tuple[bytes, int]]:
        stream = self._bare_json(at) if objects_are_bare and self._keep == "events" else None
        if stream is None:
            return super()._lines_of(block, at, objects_are_bare)
        lines = pc.split_pattern(pa.array([memoryview(block)[:-1]], pa.binary()), b"\n").flatten()
        if not json_lines.are_all_json(lines):
            # A record ends the other text before it, so none may be left out.
            return super()._lines_of(block, at, objects_are_bare)
        kept = np.flatnonzero(~json_lines.are_routine(lines))
        stream.splitter.headers += len(lines) - len(kept)
        begins = np.frombuffer(lines.buffers()[1], np.int32)[
            lines.offset : lines.offset + len(lines)
        ]
        return zip(
            lines.take(pa.array(kept)).to_pylist(),
            (begins[kept].astype(np.int64) - begins[0] + at).tolist(),
            strict=True,
        )

    def _splitter(self, process: str, layout: Layout) -> RecordSplitter:
        return ColumnSplitter(self, process, layout)

    def _batch(self, end: int = sys.maxsize) -> pa.RecordBatch:
        self.add([(process, record) for process, record in self._out if record[-1] < end])
        self._out = []
        pending, self._pending = self._pending, []
        if not pending:
            return _NO_RECORDS
        return pa.Table.from_batches(pending, RECORDS).combine_chunks().to_batches()[0]

    def add(self, records: Iterable[tuple[str, RawRecord]]) -> None:
        for process, group in groupby(records, key=itemgetter(0)):
            *columns, _ = zip(*(record for _, record in group), strict=True)
            self.add_columns(process, [*columns, None], len(columns[0]))

    def add_columns(self, process: str, columns: list[Any], rows: int) -> None:
        if rows:
            values_by_column = [*columns, process, self._file, None, None]
            arrays = [
                _array(values, field.type, rows)
                for values, field in zip(values_by_column, RECORDS, strict=True)
            ]
            self._pending.append(pa.RecordBatch.from_arrays(arrays, schema=RECORDS))


class ColumnSplitter(RecordSplitter):
    """Makes columns of pieces that are one complete record; the base class splits others."""

    def __init__(self, reader: BlockReader, process: str, layout: Layout) -> None:
        super().__init__(layout, reader._zone, keep=reader._keep, counts=reader._counts)
        self._reader = reader
        self._process = process

    def _take_all_but_last(self, lines: bytes, out: list[RawRecord]) -> bytes:
        if self._reader._one_by_one:
            return super()._take_all_but_last(lines, out)
        pieces = pc.split_pattern(pa.array([lines], pa.binary()), self._separator).flatten()
        last: bytes = pieces[-1].as_py()
        if len(pieces) > 1:
            self._take_pieces(pieces[:-1], self._carry_offset + len(lines) - len(last), out)
        return last

    def _take_pieces(self, pieces: pa.BinaryArray, end_offset: int, out: list[RawRecord]) -> None:
        is_whole = whole_records.are_whole(pieces, self._layout)
        if not self._keep_all:
            is_kept = ~is_whole | whole_records.are_kept(pieces)
            self.headers += int((~is_kept).sum())
            pieces, is_whole = pieces.filter(pa.array(is_kept)), is_whole[is_kept]
        changes = np.flatnonzero(is_whole[1:] != is_whole[:-1]) + 1
        is_mixed = len(changes) > MOST_CHANGES
        for begin, end in pairwise([0, *([] if is_mixed else changes.tolist()), len(pieces)]):
            run = pieces.slice(begin, end - begin)
            if is_mixed or not is_whole[begin] or not self._take_whole(run, out):
                self._take(run.to_pylist(), out)
        self._carry_offset = end_offset

    def _take_whole(self, pieces: pa.BinaryArray, out: list[RawRecord]) -> bool:
        columns = whole_records.columns_of(pieces, self._layout, self._zone)
        if columns is None:
            return False
        self._emit(out)
        self._reader.add([*self._reader._out, *((self._process, record) for record in out)])
        self._reader._out.clear()
        out.clear()
        self.headers += len(pieces)
        *arrays, hashes = columns
        # The counts are not saved, so their time does not matter.
        ordinals = self._counts.ordinals(hashes, _NO_TIME)
        self._reader.add_columns(self._process, [*arrays, hashes, ordinals, None], len(hashes))
        return True


def _hole_bytes(stream: IO[bytes]) -> int:
    size = 0
    while data := stream.read(READ_ON_BYTES):
        text = data.lstrip(b"\0")
        size += len(data) - len(text)
        if text:
            break
    return size


def _array(values: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return (
        pa.array(values, kind)
        if isinstance(values, tuple | list)
        else pa.repeat(pa.scalar(values, kind), rows)
    )


_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_NO_RECORDS = pa.RecordBatch.from_pylist([], RECORDS)
