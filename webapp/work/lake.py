"""The lake as the web sees it. Never opened in a process that forks afterwards (Celery's main process)."""

from collections.abc import Iterable, Mapping

from django.conf import settings

from ingest.lake.store import Lake
from ingest.lake.tables import TABLES


def lake() -> Lake:
    return Lake(settings.WEIR.lake_root, settings.WEIR.lake_options)


def commits() -> dict[str, int]:
    """Newest commit of every table."""
    opened = lake()
    return {table: opened.version(table) for table in TABLES}


def is_at(commits: Mapping[str, int]) -> bool:
    """Whether every table stands at exactly these commits, those that are not named at none."""
    return lake().is_at({table: commits.get(table, 0) for table in TABLES})


def has_news(known: Mapping[str, int], tables: Iterable[str]) -> bool:
    """Whether any of these tables has got rows since the known commits that are more than routine."""
    opened = lake()
    return any(opened.has_news(table, known.get(table, 0)) for table in tables)
