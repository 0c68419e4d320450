"""Where lines that shippers push, or that a store of logs answered, wait for the collector, which
follows them like any log file.
"""

from django.conf import settings

from ingest.pushed.metrics_spool import MetricsSpool
from ingest.pushed.spool import Spool


def spool_of(cluster: str) -> Spool:
    """Below ``WEIR_HOME``, which web server and collector share."""
    return Spool(settings.WEIR.home / "pushed" / cluster)


def pulled_spool_of(cluster: str) -> Spool:
    """Of lines that the collector reads from a store.

    Apart from those that are pushed, whose files others remove.
    """
    return Spool(settings.WEIR.home / "pulled" / cluster)


def metrics_spool_of(cluster: str) -> MetricsSpool:
    return MetricsSpool(settings.WEIR.home / "pushed-metrics" / cluster)
