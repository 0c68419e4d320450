"""Commits by Spark, which writes only derived tables: ``spark_jobs`` imports no other writer."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from deltalake import DeltaTable

from ingest.lake import commits
from ingest.lake.commits import T
from ingest.lake.derived import DERIVED, READ_BY_SPARK
from ingest.lake.reader import LakeReader
from ingest.records import Observed

write_rows = commits.write_rows


def append(lake: LakeReader, observed: Iterable[Observed]) -> dict[str, int]:
    return commits.append(lake, observed, READ_BY_SPARK)


def commit(lake: LakeReader, table: str, write: Callable[[DeltaTable, int], T]) -> T:
    return commits.commit(lake, DERIVED[table], write)


def staged_commit(lake: LakeReader, table: str) -> AbstractContextManager[tuple[DeltaTable, int]]:
    return commits.staged_commit(lake, DERIVED[table])
