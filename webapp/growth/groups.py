"""Clusters, or clusters of one label, as sums over their days, over one window."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core.cache import cache

from webapp.fleet.cluster_labels import label_names
from webapp.fleet.models import Cluster
from webapp.growth.figures import HISTORY_DAYS, Days, Figures, figures
from webapp.growth.models import ClusterDay
from webapp.growth.trends import last_known, total
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step

JOB, CLUSTER = "job", "cluster"
KINDS = {
    "state": "state_bytes",
    "uploaded": "uploaded_bytes",
    "unreferenced": "unreferenced_bytes",
    "stored": "stored_bytes",
}
NO_LABEL = "–"


@dataclass(frozen=True)
class Group:
    """``jobs`` of which a size is known on the newest day.

    ``days``: what the chart draws. ``members``: names of its clusters.
    """

    name: str
    clusters: int
    jobs: int
    figures: Figures
    days: Days
    members: tuple[str, ...] = ()


def groupings() -> tuple[str, ...]:
    return (JOB, CLUSTER, *(name for name in label_names() if name not in (JOB, CLUSTER)))


def groups_by(by: str, window: int, now: datetime) -> list[Group]:
    """The largest state first.

    ``by``: cluster, or a label of clusters. Two queries, however many jobs there are.
    """
    at = end_of_step(now)
    key = answer_key("growth", (Group, Figures, Days), by, window, at)
    kept = cache.get(key)
    if isinstance(kept, list):
        return kept
    clusters = days_of_clusters(now)
    labels: Mapping[str, Mapping[str, str]] = (
        dict(Cluster.objects.values_list("name", "labels")) if by != CLUSTER else {}
    )
    members: dict[str, dict[str, tuple[Days, dict[int, float]]]] = defaultdict(dict)
    for name, days in clusters.items():
        members[name if by == CLUSTER else str(labels.get(name, {}).get(by) or NO_LABEL)][name] = (
            days
        )
    newest = now.astimezone(UTC).toordinal()
    groups = [_group(name, entry, window, newest) for name, entry in members.items()]
    groups.sort(key=lambda group: (-(group.figures.state_bytes or 0), group.name))
    cache.set(key, groups, KEPT_S)
    return groups


def days_of_clusters(
    now: datetime, names: Iterable[str] | None = None
) -> dict[str, tuple[Days, dict[int, float]]]:
    """Of each cluster its days and its jobs by day; of ``names``, or of all. One query."""
    since = now.astimezone(UTC).date() - timedelta(days=HISTORY_DAYS)
    rows = ClusterDay.objects.filter(day__gt=since)
    if names is not None:
        rows = rows.filter(cluster__in=list(names))
    days_by_cluster: dict[str, tuple[Days, dict[int, float]]] = defaultdict(lambda: (Days(), {}))
    for cluster, day, jobs, *values in rows.values_list(
        "cluster", "day", "jobs", *KINDS.values()
    ).iterator(2_000):
        days, counts = days_by_cluster[cluster]
        counts[day.toordinal()] = jobs
        for kind, value in zip(KINDS, values, strict=True):
            if value is not None:
                getattr(days, kind)[day.toordinal()] = value
    return dict(days_by_cluster)


def _group(
    name: str, members: Mapping[str, tuple[Days, dict[int, float]]], window: int, newest: int
) -> Group:
    kinds = {kind: total([getattr(days, kind) for days, _ in members.values()]) for kind in KINDS}
    days = Days(**kinds)
    jobs = last_known(total([counts for _, counts in members.values()]), window, newest)
    return Group(
        name,
        len(members),
        int(jobs or 0),
        figures(days, window, newest),
        days,
        tuple(sorted(members)),
    )
