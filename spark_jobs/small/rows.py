"""Rows of a pinned lake as Arrow tables, few enough for one process."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ingest.lake.derived import ALL_TABLES
from ingest.lake.store import DataFile, Lake
from spark_jobs.arrow_schemas import INSTANT, in_microseconds
from spark_jobs.paths import absolute_root
from spark_jobs.spans import Span

MOST_ROWS = 40_000
"""Of the files that a cycle reads, all told: seconds of work. Beyond it Spark's planning no longer weighs."""
MOST_BYTES = 8 << 20
"""The same files, as they lie in the lake; rows of thousands of subtasks are long."""

Row = dict[str, Any]
"""One row as plain values; instants are aware datetimes."""


def lies_here(*places: str) -> bool:
    """Whether all these are on this machine's disk."""
    return not any("://" in place for place in places)


class TooLarge(Exception):
    """More rows would have to be read than one process should hold."""


@dataclass
class SmallLake:
    """A lake on this machine's disk as of one version per table. Its methods raise :class:`TooLarge`."""

    lake: Lake
    versions: dict[str, int]
    most_rows: int = MOST_ROWS
    _rows: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def new_files(self, table: str, after_seq: int) -> list[DataFile]:
        """Files that hold rows of commits after ``after_seq``; none where those only compacted."""
        version = self.versions[table]
        return self.lake.files(table, version=version, after_seq=after_seq) if version > after_seq else []

    def new_rows(self, table: str, after_seq: int) -> pa.Table:
        return self._read(table, self.new_files(table, after_seq), pc.field("commit_seq") > after_seq)

    def rows_in(self, table: str, spans: Sequence[Span]) -> pa.Table:
        """Rows of all commits whose time column lies in one of ``spans``."""
        if not spans or not self.versions[table]:
            return self._read(table, (), None)
        first, last = spans[0][0], spans[-1][1]
        files = self.lake.files(table, version=self.versions[table], from_time=first, to_time=last)
        time = pc.field(ALL_TABLES[table].time_column)
        inside = ((time >= _scalar(start)) & (time <= _scalar(end)) for start, end in spans)
        return self._read(table, files, reduce(or_, inside))

    def _read(self, table: str, files: Iterable[DataFile], condition: pc.Expression | None) -> pa.Table:
        schema = pa.schema([pa.field(one.name, in_microseconds(one.type)) for one in ALL_TABLES[table].schema if one.name != "date"])
        base = f"{absolute_root(self.lake.root)}/{table}"
        paths = []
        for file in files:
            self._rows += file.rows
            self._bytes += file.size_bytes
            # The Delta library percent-encodes the root in what it returns; below it only ``date=`` folders lie.
            paths.append(f"{base}/date={file.uri.rsplit('/date=', 1)[1]}")
        if self._rows > self.most_rows or self._bytes > MOST_BYTES:
            raise TooLarge(f"{self._rows} rows in {self._bytes} bytes of the lake are more than one process should hold.")
        if not paths:
            return schema.empty_table()
        return ds.dataset(paths, schema=schema, format="parquet").to_table(filter=condition).combine_chunks()


def _scalar(at: datetime) -> pa.Scalar:
    return pa.scalar(at, INSTANT)
