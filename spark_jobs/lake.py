"""Spark frames of lake tables. Spark gets the Parquet files by name, without a Delta jar."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.lake.derived import ALL_TABLES, CYCLE_TABLES, with_same_rows
from ingest.lake.reader import DataFile, LakeReader
from spark_jobs.frames import parquet_frame
from spark_jobs.paths import absolute_root, hadoop_path
from spark_jobs.pinned_files import PinnedFiles
from spark_jobs.schemas import lake_schema
from spark_jobs.slices import data_path
from spark_jobs.spans import Span

SMALL_ROWS = 200_000
SMALL_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class PinnedLake(PinnedFiles):
    """Rows up to one commit per table. Frames of a raw table include rows that Spark read from
    archives.
    """

    session: SparkSession
    lake: LakeReader
    versions: dict[str, int]

    def new_rows(self, table: str, after: Mapping[str, int]) -> DataFrame:
        seq = F.col("commit_seq")
        frames = [
            self._frame(source, files).where(
                (seq > after.get(source, 0)) & (seq <= self.versions[source])
            )
            for source in with_same_rows(table)
            if (files := self.new_files(source, after))
        ]
        return self._union(table, frames)

    def has_new_rows(self, table: str, after: Mapping[str, int]) -> bool:
        """Commits that only compact files have no new rows."""
        new_files = [
            (source, file)
            for source in with_same_rows(table)
            for file in self.new_files(source, after)
        ]
        if any(
            file.last_seq is not None and file.last_seq <= self.versions[source]
            for source, file in new_files
        ):
            return True
        # The others may only have rows of later commits.
        return bool(new_files) and not self.new_rows(table, after).isEmpty()

    def is_small(self, after: Mapping[str, int]) -> bool:
        return are_small([file for table in self.versions for file in self.new_files(table, after)])

    def rows_in(self, table: str, spans: Sequence[Span]) -> DataFrame:
        time = F.col(ALL_TABLES[table].time_column)
        inside = F.lit(False)
        for start, end in spans:
            inside = inside | time.between(F.lit(start), F.lit(end))
        seq = F.col("commit_seq")
        frames = [
            self._frame(source, files).where(inside & (seq <= self.versions[source]))
            for source in with_same_rows(table)
            if (files := self.files_in(source, spans))
        ]
        return self._union(table, frames)

    def _union(self, table: str, frames: Sequence[DataFrame]) -> DataFrame:
        return (
            reduce(lambda frame, other: frame.unionByName(other), frames)
            if frames
            else self.session.createDataFrame([], lake_schema(table))
        )

    def _frame(self, table: str, files: Iterable[DataFile]) -> DataFrame:
        base = hadoop_path(f"{absolute_root(self.lake.root)}/{table}")
        paths = [data_path(self.lake, table, file) for file in files]
        return parquet_frame(self.session, paths, ALL_TABLES[table].schema, {"basePath": base})


def are_small(files: Sequence[DataFile]) -> bool:
    return (
        sum(file.rows for file in files) <= SMALL_ROWS
        and sum(file.size_bytes for file in files) <= SMALL_BYTES
    )


def pin(
    session: SparkSession, lake: LakeReader, versions: dict[str, int] | None = None
) -> PinnedLake:
    newest = {table: lake.version(table) for table in CYCLE_TABLES}
    pinned = {
        table: min((versions or newest).get(table, version), version)
        for table, version in newest.items()
    }
    return PinnedLake(session, lake, pinned)
