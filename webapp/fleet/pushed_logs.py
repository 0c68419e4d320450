"""Where lines that shippers push wait for the collector, which follows them like any log file of the cluster."""

from django.conf import settings

from ingest.pushed.spool import Spool


def spool_of(cluster: str) -> Spool:
    """Below ``WEIR_HOME``, which web server and collector share."""
    return Spool(settings.WEIR.home / "pushed" / cluster)
