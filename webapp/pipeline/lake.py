"""The lake as the web sees it. Never opened in a process that forks afterwards (Celery's main process)."""

from django.conf import settings

from ingest.lake.store import Lake
from ingest.lake.tables import TABLES


def lake() -> Lake:
    return Lake(settings.WEIR.lake_root, settings.WEIR.lake_options)


def commits() -> dict[str, int]:
    """Newest commit of every table."""
    opened = lake()
    return {table: opened.version(table) for table in TABLES}
