"""Finds hosts by a part of their name; those with the worst open findings come first."""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.db.models import Max
from django.urls import reverse
from django.utils.translation import gettext

from webapp.findings.choices import SEVERITY_RANK, FindingState
from webapp.findings.models import FindingHost
from webapp.hosts.models import HostEvent, JobHost
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit
from webapp.site.palette.jobs import LONGEST_NAME

MOST_READ = 10 * MOST_OF_GROUP


def hosts(text: str) -> Iterator[Group]:
    """Three queries."""
    if len(text) > LONGEST_NAME:
        return
    pairs: set[tuple[str, str]] = set()
    for model in (JobHost, HostEvent):
        matching = (
            model.objects.filter(host__icontains=text)
            .order_by()
            .values_list("host", "cluster")
            .distinct()
        )
        pairs.update(matching[:MOST_READ])
    if pairs:
        worst = {
            (host, cluster): rank
            for host, cluster, rank in FindingHost.objects.filter(
                host__in={host for host, _ in pairs}, finding__state=FindingState.OPEN
            )
            .order_by()
            .values_list("host", "cluster")
            .annotate(Max("finding__severity_rank"))
        }
        worst_first = sorted(pairs, key=lambda pair: (-worst.get(pair, 0), pair))
        yield Group(
            gettext("Hosts"),
            [
                Hit(host, host_address(host, cluster), _detail(cluster, worst.get((host, cluster))))
                for host, cluster in worst_first[:MOST_OF_GROUP]
            ],
        )


def host_address(host: str, cluster: str) -> str:
    return f"{reverse('host', args=[host])}?{urlencode({'cluster': cluster})}"


def _detail(cluster: str, rank: int | None) -> str:
    words = (str(severity.label) for severity, value in SEVERITY_RANK.items() if value == rank)
    word = next(words, "")
    return f"{cluster} · {word}" if word else cluster
