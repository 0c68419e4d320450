"""Hosts by a part of their name."""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from webapp.hosts.models import HostEvent, JobHost
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit
from webapp.site.palette.jobs import LONGEST_NAME


def hosts(text: str) -> Iterator[Group]:
    """Two queries."""
    if len(text) > LONGEST_NAME:
        return
    pairs: set[tuple[str, str]] = set()
    for model in (JobHost, HostEvent):
        named = (
            model.objects.filter(host__icontains=text)
            .order_by()
            .values_list("host", "cluster")
            .distinct()
        )
        pairs.update(named[: 2 * MOST_OF_GROUP])
    if pairs:
        yield Group(
            gettext("Hosts"),
            [
                Hit(host, host_address(host, cluster), cluster)
                for host, cluster in sorted(pairs)[:MOST_OF_GROUP]
            ],
        )


def host_address(host: str, cluster: str) -> str:
    return f"{reverse('host', args=[host])}?{urlencode({'cluster': cluster})}"
