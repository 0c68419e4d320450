"""Raw log text → rows of the lake's ``log_records``, by :mod:`ingest.flink_logs.record_splitter` in Spark's Python workers.

Spark reads the text with a record's opening as line separator (``\\n20`` for Flink's layout) and hands it out in blocks;
a splitter for each block makes records of the pieces. That is right wherever each block begins with a header, which is
nearly every file; where one does not, the file has to be read in order (:func:`in_order`), which sorts it.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ingest.flink_logs.layouts import FLINK, Layout, zone_of
from ingest.flink_logs.names import process_of
from ingest.flink_logs.record_splitter import MAX_RECORD_BYTES, Keep, RawRecord, RecordSplitter
from spark_jobs.arrow_schemas import INSTANT
from spark_jobs.schemas import spark_schema
from spark_jobs.transforms import whole_records

_ARROW_SCHEMA = pa.schema(
    [
        ("ts", INSTANT),
        *((name, pa.string()) for name in ("level", "logger", "message", "record_hash")),
        *((name, pa.int64()) for name in ("ordinal", "offset")),
        *((name, pa.string()) for name in ("process", "file")),
        ("headers", pa.int64()),
        ("stray", pa.bool_()),
    ]
)
READ_SCHEMA = spark_schema(_ARROW_SCHEMA)

MOST_CHANGES = 20
"""Between pieces that are records alone and others, in one batch: beyond it the way that is faster for many costs more."""


def line_separator(layout: Layout) -> str:
    """The ``lineSep`` with which text must be read."""
    return f"\n{layout.opening}"


def by_block(text: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC", keep: Keep = "events") -> DataFrame:
    """Frame of ``value, file, block`` (see :func:`line_separator`; ``file`` is Spark's URI) → ``READ_SCHEMA``.

    ``offset`` is not known, ``ordinal`` only within a block. Each block has one more row, without ``record_hash``: how many
    ``headers`` it has, and whether it is ``stray``: begins with what belongs to a record of the block before.
    """
    return pieces(text).mapInArrow(partial(record_batches, layout=layout, time_zone=time_zone, keep=keep), READ_SCHEMA)


def in_order(text: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC", keep: Keep = "events") -> DataFrame:
    """The same, each file as one block: whatever it holds, and ``ordinal`` is that of the file. Sorts."""
    numbered = pieces(text, F.monotonically_increasing_id().alias("row"))
    ordered = numbered.repartition("file").sortWithinPartitions("file", "block", "row")
    return ordered.mapInArrow(partial(record_batches, layout=layout, time_zone=time_zone, keep=keep, whole_files=True), READ_SCHEMA)


def numbered(rows: DataFrame) -> DataFrame:
    """``ordinal`` among equal records of one file. Equal ones are interchangeable, so their order does not matter."""
    alike = Window.partitionBy("file", "ts", "record_hash").orderBy("process")
    return rows.withColumn("ordinal", F.row_number().over(alike).cast("long") - 1)


def pieces(text: DataFrame, *more: Column) -> DataFrame:
    """What :func:`record_batches` takes."""
    # Copy-and-truncate rotation may leave a hole at the start of a file. No record has more bytes than are kept of a piece.
    value = F.col("value")
    filled = F.when(value.startswith("\0"), F.ltrim(value, F.lit("\0"))).otherwise(value).cast("binary")
    long = F.substring(filled, 1, MAX_RECORD_BYTES)
    piece = F.when(F.octet_length(value) > MAX_RECORD_BYTES, long).otherwise(value.cast("binary"))
    return text.select(piece.alias("value"), "file", "block", *more)


def record_batches(
    batches: Iterable[pa.RecordBatch], layout: Layout = FLINK, time_zone: str = "UTC", keep: Keep = "events", whole_files: bool = False
) -> Iterator[pa.RecordBatch]:
    """Pieces of text, block after block, to ``READ_SCHEMA``."""
    block: _Block | None = None
    done: list[pa.RecordBatch] = []
    for batch in batches:
        values = batch.column("value")
        alone = whole_records.alone(values, layout)
        for begin, end in _runs(batch):
            key = batch.column("file")[begin].as_py(), batch.column("block")[begin].as_py()
            if block is None or block.key[: 1 if whole_files else 2] != key[: 1 if whole_files else 2]:
                done += block.end() if block else []
                block = _Block(key, layout, time_zone, keep)
            done += block.take(values.slice(begin, end - begin), alone[begin:end])
        if done:
            yield _together(done)
            done = []
    if block:
        yield _together(block.end())


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Begin and end of rows that are of one block."""
    count = batch.num_rows
    if not count:
        return
    changes = np.zeros(count - 1, bool)
    for name in ("file", "block"):
        column = batch.column(name)
        changes |= pc.not_equal(column.slice(1), column.slice(0, count - 1)).to_numpy(zero_copy_only=False)
    yield from pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), count])


class _Block:
    """The pieces of one block, in order."""

    def __init__(self, key: tuple[str, int], layout: Layout, time_zone: str, keep: Keep) -> None:
        self.key = key
        self._file = file_name(key[0])
        self._process = process_of(self._file)
        self._layout, self._zone, self._keep = layout, zone_of(time_zone, layout), keep
        self._splitter = RecordSplitter(layout, self._zone, file=self._file, process=self._process, keep=keep)
        self._opening = layout.opening.encode()
        self._at_file_start = key[1] == 0
        self._headers = 0

    def take(self, values: pa.BinaryArray, alone: np.ndarray) -> list[pa.RecordBatch]:
        """``alone``: pieces that are records, whole and alone, wherever the next piece is of this block too."""
        # What the next block begins with may belong to the last piece of this one.
        alone[-1] = False
        if self._keep == "events":
            skipped = alone & whole_records.unread(values)
            self._headers += int(skipped.sum())
            values, alone = values.filter(pa.array(~skipped)), alone[~skipped]
        changes = np.flatnonzero(alone[1:] != alone[:-1]) + 1
        if len(changes) > MOST_CHANGES:
            return self._split(values)
        out: list[pa.RecordBatch] = []
        for begin, end in pairwise([0, *changes.tolist(), len(values)]):
            part = values.slice(begin, end - begin)
            out += self._whole(part) if alone[begin] else self._split(part)
        return out

    def end(self) -> list[pa.RecordBatch]:
        counts = {"process": self._process, "file": self._file, "headers": self._headers + self._splitter.headers, "stray": self._stray}
        return [*self._batches(self._splitter.end()), pa.RecordBatch.from_pylist([counts], _ARROW_SCHEMA)]

    @property
    def _stray(self) -> bool:
        return self._splitter.stray and self.key[1] > 0

    def _whole(self, values: pa.BinaryArray) -> list[pa.RecordBatch]:
        columns = whole_records.columns_of(values, self._layout, self._zone, self._keep)
        if columns is None:
            return self._split(values)
        before = self._batches(self._splitter.end())
        self._headers += len(values)
        *arrays, hashes = columns
        return [*before, self._batch([*arrays, hashes, self._splitter.ordinals(hashes), None])] if hashes else before

    def _split(self, values: pa.BinaryArray) -> list[pa.RecordBatch]:
        pieces = values.to_pylist()
        if self._at_file_start:
            self._at_file_start = False
            first = pieces[0].lstrip(b"\0")
            begins = first.startswith(self._opening)
            pieces = [*([first[len(self._opening) :]] if begins else []), *pieces[1:]]
        return self._batches(self._splitter.take(pieces))

    def _batches(self, records: list[RawRecord]) -> list[pa.RecordBatch]:
        if not records:
            return []
        *columns, _ = zip(*records, strict=True)
        return [self._batch([*columns, None])]

    def _batch(self, columns: list[Any]) -> pa.RecordBatch:
        """``columns`` up to ``offset``."""
        every = [*columns, self._process, self._file, None, None]
        rows = len(columns[0])
        return pa.RecordBatch.from_arrays(
            [_array(values, field.type, rows) for values, field in zip(every, _ARROW_SCHEMA, strict=True)], schema=_ARROW_SCHEMA
        )


def _array(values: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return pa.array(values, kind) if isinstance(values, tuple | list) else pa.repeat(pa.scalar(values, kind), rows)


def file_name(uri: str) -> str:
    """Spark's URI of a file as the Python side names it: a plain path where it is local."""
    name = unquote(uri)
    for prefix, plain in (("file:///", "/"), ("file:/", "/"), ("s3a://", "s3://")):
        if name.startswith(prefix):
            return plain + name.removeprefix(prefix)
    return name
