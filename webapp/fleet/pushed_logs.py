"""Folders where lines wait for the collector: pushed lines, and lines of a log store."""

from django.conf import settings

from ingest.pushed.metrics_spool import MetricsSpool
from ingest.pushed.spool import Spool


def spool_of(cluster: str) -> Spool:
    return Spool(settings.WEIR.home / "pushed" / cluster)


def pulled_spool_of(cluster: str) -> Spool:
    """Not the folder of pushed lines, whose files the receiver removes."""
    return Spool(settings.WEIR.home / "pulled" / cluster)


def metrics_spool_of(cluster: str) -> MetricsSpool:
    return MetricsSpool(settings.WEIR.home / "pushed-metrics" / cluster)
