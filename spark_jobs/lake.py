"""Frames of raw lake tables: the files of a pinned version, handed to Spark by name.

Spark needs no Delta jar for this. Which files are needed is decided before, from the bounds that
each commit recorded; rows are filtered again, since a file may hold more than was asked for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.lake.derived import ALL_TABLES
from ingest.lake.store import DataFile, Lake
from ingest.lake.tables import TABLES
from spark_jobs.paths import absolute_root, hadoop_path, without_globs
from spark_jobs.schemas import lake_schema
from spark_jobs.spans import Span

SMALL_ROWS = 200_000
SMALL_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class PinnedLake:
    """The lake as of one version per table, so that all frames of a run agree."""

    session: SparkSession
    lake: Lake
    versions: dict[str, int] = field(default_factory=dict)

    def new_rows(self, table: str, after_seq: int) -> DataFrame:
        """Rows that commits after ``after_seq`` up to the pinned version brought."""
        if self.versions[table] <= after_seq:
            return self.empty(table)
        files = self.lake.files(table, version=self.versions[table], after_seq=after_seq)
        seq = F.col("commit_seq")
        return self._frame(table, files).where((seq > after_seq) & (seq <= self.versions[table]))

    def has_new_rows(self, table: str, after_seq: int) -> bool:
        """Whether those commits brought any rows: one that only compacts does not."""
        version = self.versions[table]
        return version > after_seq and bool(self.lake.files(table, version=version, after_seq=after_seq))

    def times_of_new(self, table: str, after_seq: int) -> list[tuple[datetime | None, datetime | None]]:
        """First and last instant in each file that holds rows of those commits, as far as its commit told them."""
        return [(file.first_time, file.last_time) for file in self.lake.files(table, version=self.versions[table], after_seq=after_seq)]

    def is_small(self, after_seq: dict[str, int]) -> bool:
        """Whether the files that hold new rows are few enough for plans that need no tuning to size."""
        files = [
            file
            for table, version in self.versions.items()
            if version > after_seq[table]
            for file in self.lake.files(table, version=version, after_seq=after_seq[table])
        ]
        return are_small(files)

    def rows_in(self, table: str, spans: Sequence[Span]) -> DataFrame:
        """Rows of all commits whose time column lies in one of ``spans``; empty for no spans."""
        if not spans or self.versions[table] == 0:
            return self.empty(table)
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        files = self.lake.files(table, version=self.versions[table], from_time=first, to_time=last)
        time = F.col(ALL_TABLES[table].time_column)
        inside = F.lit(False)
        for start, end in spans:
            inside = inside | time.between(F.lit(start), F.lit(end))
        return self._frame(table, [file for file in files if _overlaps(file, spans)]).where(inside)

    def empty(self, table: str) -> DataFrame:
        return self.session.createDataFrame([], lake_schema(table))

    def _frame(self, table: str, files: Iterable[DataFile]) -> DataFrame:
        base = hadoop_path(f"{absolute_root(self.lake.root)}/{table}")
        # The Delta library percent-encodes the root in what it returns; below it only ``date=`` folders lie.
        paths = [f"{base}/date={file.uri.rsplit('/date=', 1)[1]}" for file in files]
        if not paths:
            return self.empty(table)
        reader = self.session.read.schema(lake_schema(table)).option("basePath", base)
        return reader.parquet(*(without_globs(path) for path in paths))


def are_small(files: Sequence[DataFile]) -> bool:
    return sum(file.rows for file in files) <= SMALL_ROWS and sum(file.size_bytes for file in files) <= SMALL_BYTES


def pin(session: SparkSession, lake: Lake, versions: dict[str, int] | None = None) -> PinnedLake:
    """All tables as of now, or as of ``versions`` where given."""
    now = {table: lake.version(table) for table in TABLES}
    return PinnedLake(session, lake, {table: min((versions or now).get(table, now[table]), now[table]) for table in TABLES})


def _overlaps(file: DataFile, spans: Sequence[Span]) -> bool:
    if file.first_time is None or file.last_time is None:
        return True
    return any(file.first_time <= end and file.last_time >= start for start, end in spans)
