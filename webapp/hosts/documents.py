"""Hosts for machines and lists: which names in which order, and which rows."""

from datetime import datetime

from webapp.fleet.filters import ClusterLabels
from webapp.fleet.models import Cluster
from webapp.hosts import lookup
from webapp.hosts.filters import HostsFilters
from webapp.hosts.lookup import Hosts
from webapp.hosts.ranking import HostRow, ordered, with_trouble

LABEL_OF_CLUSTER = ClusterLabels("name")


def host_rows(filters: HostsFilters, start: datetime, end: datetime) -> tuple[Hosts, list[HostRow]]:
    """Of the hosts that were counted those that match, in order; none where a parameter is wrong."""
    if not filters.is_valid():
        return Hosts((), start), []
    asked = filters.values
    hosts = lookup.hosts(asked.get("cluster"), start, end)
    rows = with_trouble(hosts.rows, asked.get("trouble"))
    if part := asked.get("name", "").casefold():
        rows = [row for row in rows if part in row.host.casefold()]
    if asked.get("label"):
        labelled = set(
            LABEL_OF_CLUSTER.filter(Cluster.objects.all(), asked["label"]).values_list(
                "name", flat=True
            )
        )
        rows = [row for row in rows if row.cluster in labelled]
    return hosts, ordered(rows, *filters.sorting)
