"""The lake as the web sees it.

Never opened in a process that forks afterwards (Celery's main process).
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
    least: timedelta = timedelta(minutes=1),
) -> tuple[pa.Table, datetime]:
    """Rows of the newest part of the range that has at most ``limit``, halved as often as it takes,
    down to ``least``; and its start.

    Raises what the storage raises.
    """
    opened = lake()
    while True:
        rows = opened.read(
            table, where=where, from_time=start, to_time=end, columns=columns, limit=limit + 1
        )
        if rows.num_rows <= limit or end - start <= least:
            return rows, start
        start = end - (end - start) / 2


def commits() -> dict[str, int]:
    """Newest commit of every table of which one makes a cycle run."""
    opened = lake()
    return {table: opened.version(table) for table in CYCLE_TABLES}


def is_at(commits: Mapping[str, int]) -> bool:
    """Whether every one of them stands at exactly these commits, those that are not named at
    none.
    """
    return lake().is_at({table: commits.get(table, 0) for table in CYCLE_TABLES})


def has_news(known: Mapping[str, int], tables: Iterable[str]) -> bool:
    """Whether any of these tables has got rows since the known commits that are more than
    routine.
    """
    opened = lake()
    return any(opened.has_news(table, known.get(table, 0)) for table in tables)
