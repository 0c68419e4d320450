"""The lake for the web application. Never open it in a process that forks afterwards (Celery's main
process).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import pyarrow as pa
from django.conf import settings

from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.store import Lake


def lake() -> Lake:
    return Lake(settings.WEIR.lake_root, settings.WEIR.lake_options)


def read_newest(
    table: str,
    where: Mapping[str, str | int],
    start: datetime,
    end: datetime,
    columns: Sequence[str],
    limit: int,
) -> tuple[pa.Table, datetime]:
    """The newest rows of the range, and the instant from which they were read. The range is halved
    until at most ``limit`` rows fit or it is as short as a minute. Raises the storage's errors.
    """
    open_lake = lake()
    while True:
        rows = open_lake.read(
            table, where=where, from_time=start, to_time=end, columns=columns, limit=limit + 1
        )
        if rows.num_rows <= limit or end - start <= timedelta(minutes=1):
            return rows, start
        start = end - (end - start) / 2


def commits() -> dict[str, int]:
    """Lake table → its number of commits."""
    open_lake = lake()
    return {table: open_lake.version(table) for table in CYCLE_TABLES}


def is_at(commits: Mapping[str, int]) -> bool:
    """Whether all tables are at exactly these commits; tables without a number must have none."""
    return lake().is_at({table: commits.get(table, 0) for table in CYCLE_TABLES})


def has_news(known: Mapping[str, int], tables: Iterable[str]) -> bool:
    """Whether any of ``tables`` has news after its ``known`` commit (:mod:`ingest.lake.reader`)."""
    open_lake = lake()
    return any(open_lake.has_news(table, known.get(table, 0)) for table in tables)
