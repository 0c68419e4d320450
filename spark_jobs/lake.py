"""Spark frames of lake tables. Spark gets the Parquet files of a pinned version by name, without a
Delta jar. Files are chosen by recorded bounds of time and commit; then rows are filtered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.lake.derived import ALL_TABLES, CYCLE_TABLES, with_same_rows
from ingest.lake.reader import DataFile, LakeReader
from spark_jobs.paths import absolute_root, hadoop_path, without_globs
from spark_jobs.schemas import lake_schema
from spark_jobs.slices import data_path
from spark_jobs.spans import Span

SMALL_ROWS = 200_000
SMALL_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class PinnedLake:
    """The lake at one version per table, so that all frames agree. Frames of a raw table include
    rows that Spark read from archives. ``after``: last known commit by table. ``file_versions``:
    versions to read files of: older ones may be deleted.
    """

    session: SparkSession
    lake: LakeReader
    versions: dict[str, int] = field(default_factory=dict)
    file_versions: dict[str, int] = field(default_factory=dict)

    def new_rows(self, table: str, after: Mapping[str, int]) -> DataFrame:
        seq = F.col("commit_seq")
        frames = [
            self._frame(source, files).where(
                (seq > after.get(source, 0)) & (seq <= self.versions[source])
            )
            for source in with_same_rows(table)
            if (files := self._new_files(source, after))
        ]
        return self._union(table, frames)

    def has_new_rows(self, table: str, after: Mapping[str, int]) -> bool:
        """Commits that only compact files have no new rows."""
        new_files = [
            (source, file)
            for source in with_same_rows(table)
            for file in self._new_files(source, after)
        ]
        if any(
            file.last_seq is not None and file.last_seq <= self.versions[source]
            for source, file in new_files
        ):
            return True
        # The others may only have rows of later commits.
        return bool(new_files) and not self.new_rows(table, after).isEmpty()

    def times_of_new(
        self, table: str, after: Mapping[str, int]
    ) -> list[tuple[datetime | None, datetime | None]]:
        return [
            (file.first_time, file.last_time)
            for source_table in with_same_rows(table)
            for file in self._new_files(source_table, after)
        ]

    def is_small(self, after: Mapping[str, int]) -> bool:
        return are_small(
            [file for table in self.versions for file in self._new_files(table, after)]
        )

    def rows_in(self, table: str, spans: Sequence[Span]) -> DataFrame:
        time = F.col(ALL_TABLES[table].time_column)
        inside = F.lit(False)
        for start, end in spans:
            inside = inside | time.between(F.lit(start), F.lit(end))
        seq = F.col("commit_seq")
        frames = [
            self._frame(source, files).where(inside & (seq <= self.versions[source]))
            for source in with_same_rows(table)
            if (files := self._files_in(source, spans))
        ]
        return self._union(table, frames)

    def _new_files(self, table: str, after: Mapping[str, int]) -> list[DataFile]:
        version, after_seq = self.versions.get(table, 0), after.get(table, 0)
        if version <= after_seq:
            return []
        file_version = self.file_versions.get(table, version)
        return self.lake.files(table, version=file_version, after_seq=after_seq, up_to_seq=version)

    def _files_in(self, table: str, spans: Sequence[Span]) -> list[DataFile]:
        version = self.versions.get(table, 0)
        if not spans or not version:
            return []
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        files = self.lake.files(
            table,
            version=self.file_versions.get(table, version),
            up_to_seq=version,
            from_time=first,
            to_time=last,
        )
        return [file for file in files if _overlaps(file, spans)]

    def _union(self, table: str, frames: Sequence[DataFrame]) -> DataFrame:
        return (
            reduce(lambda frame, other: frame.unionByName(other), frames)
            if frames
            else self.empty(table)
        )

    def empty(self, table: str) -> DataFrame:
        return self.session.createDataFrame([], lake_schema(table))

    def _frame(self, table: str, files: Iterable[DataFile]) -> DataFrame:
        base = hadoop_path(f"{absolute_root(self.lake.root)}/{table}")
        paths = [hadoop_path(data_path(self.lake, table, file)) for file in files]
        reader = self.session.read.schema(lake_schema(table)).option("basePath", base)
        return reader.parquet(*(without_globs(path) for path in paths))


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
    return PinnedLake(session, lake, pinned, newest)


def _overlaps(file: DataFile, spans: Sequence[Span]) -> bool:
    if file.first_time is None or file.last_time is None:
        return True
    return any(file.first_time <= end and file.last_time >= start for start, end in spans)
