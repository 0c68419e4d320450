from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ingest.lake.derived import ALL_TABLES, with_same_rows
from ingest.lake.reader import DataFile, LakeReader
from spark_jobs.arrow_schemas import INSTANT, fields_of
from spark_jobs.pinned_files import PinnedFiles
from spark_jobs.slices import counts, data_path
from spark_jobs.spans import Span

MOST_ROWS = 40_000
"""Seconds of work. For more rows, the time of Spark's planning does not matter."""
MOST_BYTES = 8 << 20
"""Size of the files that are read: rows of thousands of subtasks are long."""


class TooLarge(Exception):
    """The rows are more than one process should hold."""


@dataclass
class SmallLake(PinnedFiles):
    """A lake on local disk, up to one commit per table. Only rows of ``clusters`` are read. Methods
    raise TooLarge after ``most_rows`` or ``MOST_BYTES``.
    """

    lake: LakeReader
    versions: dict[str, int]
    most_rows: int | None = MOST_ROWS
    clusters: tuple[str, ...] | None = None
    _rows: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def has_new_rows(self, table: str, after: Mapping[str, int]) -> bool:
        for source_table in with_same_rows(table):
            files = self.new_files(source_table, after)
            version = self.versions.get(source_table, 0)
            if self.clusters is None and any(
                file.last_seq is not None and file.last_seq <= version for file in files
            ):
                return True
            paths = [data_path(self.lake, source_table, file) for file in files]
            if paths and ds.dataset(paths, format="parquet").count_rows(
                filter=self._newer(source_table, after)
            ):
                return True
        return False

    def new_rows(self, table: str, after: Mapping[str, int]) -> pa.Table:
        return pa.concat_tables(
            self._read(name, self.new_files(name, after), self._newer(name, after))
            for name in with_same_rows(table)
        ).combine_chunks()

    def rows_in(self, table: str, spans: Sequence[Span]) -> pa.Table:
        time = pc.field(ALL_TABLES[table].time_column)
        in_spans = reduce(
            or_,
            ((time >= _scalar(start)) & (time <= _scalar(end)) for start, end in spans),
            pc.scalar(False),
        )
        return pa.concat_tables(
            self._read(name, self.files_in(name, spans), in_spans & self._up_to(name))
            for name in with_same_rows(table)
        ).combine_chunks()

    def new_rows_of_clusters(self, after: Mapping[str, int]) -> Counter[str]:
        counter: Counter[str] = Counter()
        for table in self.versions:
            files = self.new_files(table, after)
            if files:
                paths = [data_path(self.lake, table, file) for file in files]
                dataset = ds.dataset(paths, format="parquet")
                counter += counts(dataset, "cluster", self._newer(table, after))
        return counter

    def _newer(self, table: str, after: Mapping[str, int]) -> pc.Expression:
        return self._up_to(table) & (pc.field("commit_seq") > after.get(table, 0))

    def _up_to(self, table: str) -> pc.Expression:
        is_committed = pc.field("commit_seq") <= self.versions.get(table, 0)
        if self.clusters is None:
            return is_committed
        return is_committed & pc.field("cluster").isin(list(self.clusters))

    def _read(self, table: str, files: Iterable[DataFile], condition: pc.Expression) -> pa.Table:
        declared = ALL_TABLES[table].schema
        schema = fields_of(declared, *(name for name in declared.names if name != "date"))
        paths = []
        for file in files:
            self._rows += file.rows
            self._bytes += file.size_bytes
            paths.append(data_path(self.lake, table, file))
        if self.most_rows is not None and (self._rows > self.most_rows or self._bytes > MOST_BYTES):
            raise TooLarge(
                f"{self._rows} rows in {self._bytes} bytes of the lake are more than one process "
                "should hold."
            )
        if not paths:
            return schema.empty_table()
        # Without a limit of rows, reading ahead would take too much memory.
        ahead = {"batch_readahead": 1, "fragment_readahead": 1} if self.most_rows is None else {}
        dataset = ds.dataset(paths, schema=schema, format="parquet")
        return dataset.scanner(filter=condition, **ahead).to_table()


def _scalar(at: datetime) -> pa.Scalar:
    return pa.scalar(at, INSTANT)
