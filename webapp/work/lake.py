"""The lake as the web sees it. Never opened in a process that forks afterwards (Celery's main process)."""

from collections.abc import Iterable, Mapping

from django.conf import settings

from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.store import Lake


def lake() -> Lake:
    return Lake(settings.WEIR.lake_root, settings.WEIR.lake_options)


def commits() -> dict[str, int]:
    """Newest commit of every table of which one makes a cycle run."""
    opened = lake()
    return {table: opened.version(table) for table in CYCLE_TABLES}


def is_at(commits: Mapping[str, int]) -> bool:
    """Whether every one of them stands at exactly these commits, those that are not named at none."""
    return lake().is_at({table: commits.get(table, 0) for table in CYCLE_TABLES})


def has_news(known: Mapping[str, int], tables: Iterable[str]) -> bool:
    """Whether any of these tables has got rows since the known commits that are more than routine."""
    opened = lake()
    return any(opened.has_news(table, known.get(table, 0)) for table in tables)
