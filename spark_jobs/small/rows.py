"""Rows of a pinned lake as Arrow tables, few enough for one process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ingest.lake.derived import ALL_TABLES, with_same_rows
from ingest.lake.reader import DataFile, LakeReader
from spark_jobs.arrow_schemas import INSTANT, in_microseconds
from spark_jobs.paths import absolute_root
from spark_jobs.spans import Span

MOST_ROWS = 40_000
"""Of all files that a cycle reads: seconds of work. Beyond it Spark's planning no longer weighs."""
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
    """A lake on this machine's disk as of one version per table. Its methods raise :class:`TooLarge`.

    Rows of a raw table come with those that Spark read itself. ``after`` is by table, its own and that of the derived one.
    """

    lake: LakeReader
    versions: dict[str, int]
    most_rows: int = MOST_ROWS
    _rows: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def new_files(self, table: str, after: Mapping[str, int]) -> list[DataFile]:
        """Files that hold rows of commits after ``after``; none where those only compacted."""
        return [file for one in with_same_rows(table) for file in self._new_files(one, after)]

    def new_rows(self, table: str, after: Mapping[str, int]) -> pa.Table:
        newer = {one: pc.field("commit_seq") > after.get(one, 0) for one in with_same_rows(table)}
        return _as_one(self._read(one, self._new_files(one, after), is_newer) for one, is_newer in newer.items())

    def rows_in(self, table: str, spans: Sequence[Span]) -> pa.Table:
        """Rows of all commits whose time column lies in one of ``spans``."""
        time = pc.field(ALL_TABLES[table].time_column)
        inside = reduce(or_, ((time >= _scalar(start)) & (time <= _scalar(end)) for start, end in spans), pc.scalar(False))
        return _as_one(self._read(one, self._files_in(one, spans), inside) for one in with_same_rows(table))

    def _new_files(self, table: str, after: Mapping[str, int]) -> list[DataFile]:
        """Of one table of its own."""
        version, known = self.versions.get(table, 0), after.get(table, 0)
        return self.lake.files(table, version=version, after_seq=known) if version > known else []

    def _files_in(self, table: str, spans: Sequence[Span]) -> list[DataFile]:
        version = self.versions.get(table, 0)
        return self.lake.files(table, version=version, from_time=spans[0][0], to_time=spans[-1][1]) if spans and version else []

    def _read(self, table: str, files: Iterable[DataFile], condition: pc.Expression) -> pa.Table:
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
        return ds.dataset(paths, schema=schema, format="parquet").to_table(filter=condition)


def _as_one(rows: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(rows).combine_chunks()


def _scalar(at: datetime) -> pa.Scalar:
    return pa.scalar(at, INSTANT)
