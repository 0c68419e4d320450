"""Folders where pushed lines, or lines read from a log store, wait for the collector, which follows
them like log files.
"""

from django.conf import settings

from ingest.pushed.metrics_spool import MetricsSpool
from ingest.pushed.spool import Spool


def spool_of(cluster: str) -> Spool:
    """The folder below ``WEIR_HOME``, which web server and collector share."""
    return Spool(settings.WEIR.home / "pushed" / cluster)


def pulled_spool_of(cluster: str) -> Spool:
    """The folder of lines read from a store. Separate from pushed lines, whose files others remove."""
    return Spool(settings.WEIR.home / "pulled" / cluster)


def metrics_spool_of(cluster: str) -> MetricsSpool:
    return MetricsSpool(settings.WEIR.home / "pushed-metrics" / cluster)
