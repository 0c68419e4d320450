from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from webapp.fleet.badges import VISIBILITY_BADGES
from webapp.fleet.models import Cluster
from webapp.lib.badges import UNKNOWN, Badge
from webapp.storage.models import JobStorage, StorageRoot
from webapp.storage.newest_audits import latest_audits


@dataclass(frozen=True)
class Reader:
    """A cluster that reads or writes a root. ``declared``: by an operator; ``jobs``: number of its
    jobs in the root's newest audit. ``name`` is empty for jobs that no cluster has reported.
    """

    name: str
    declared: bool
    jobs: int
    visibility: Badge


def known_readers(root: StorageRoot, now: datetime) -> list[Reader]:
    """Sorted by name; jobs that no cluster has reported come first."""
    declared = {cluster.name for cluster in root.clusters.all()}
    rows = JobStorage.objects.filter(root=root.uri, audit__in=latest_audits()).exclude(job_id="")
    jobs = dict(rows.order_by().values_list("cluster").annotate(Count("job_id", distinct=True)))
    names = sorted(declared | set(jobs))
    badges = {
        cluster.name: VISIBILITY_BADGES[cluster.visibility_at(now)]
        for cluster in Cluster.objects.filter(name__in=names).defer("cursor", "pods")
    }
    return [
        Reader(name, name in declared, jobs.get(name, 0), badges.get(name, UNKNOWN))
        for name in names
    ]
