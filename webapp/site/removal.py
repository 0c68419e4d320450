"""Removes clusters: their jobs are no longer watched, and their alerts end."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from webapp.findings import job_judgements, unreachable_clusters
from webapp.findings.signals import findings_changed
from webapp.fleet import demo
from webapp.fleet.models import Cluster
from webapp.site import demo_tour


def remove_clusters(clusters: Iterable[Cluster], now: datetime) -> None:
    with transaction.atomic():
        for cluster in clusters:
            cluster.delete()
        unreachable_clusters.close_unwatched(now)
        job_judgements.forget_unseen(now)
        findings_changed.send(sender=None)


def remove_demo(now: datetime) -> int:
    """Permanently removes the demo's clusters and all their data; returns how many clusters. The
    replay runs on until Weir stops.
    """
    clusters = list(demo.clusters())
    demo.remove()
    demo_tour.remove(now)
    remove_clusters(clusters, now)
    return len(clusters)
