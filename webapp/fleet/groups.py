from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F, Min
from django.urls import reverse
from django.utils.http import urlencode

from webapp.fleet.badges import health_badge, health_band
from webapp.fleet.choices import HealthState
from webapp.fleet.models import Cluster
from webapp.fleet.sorting import UNKNOWN_AS
from webapp.lib.badges import Badge

CLUSTER, FAMILY = "cluster", "family"
MOST_SHOWN = 200


@dataclass
class JobGroup:
    value: str
    query: dict[str, str]
    counts: dict[str, int] = field(default_factory=dict)
    worst: int | None = None

    @property
    def jobs(self) -> int:
        return sum(self.counts.values())

    @property
    def badge(self) -> Badge:
        is_unknown = self.worst is None or (self.counts.get("unknown") and self.worst >= UNKNOWN_AS)
        return health_badge(self.worst, HealthState.UNKNOWN if is_unknown else HealthState.JUDGED)

    @property
    def url(self) -> str:
        return f"{reverse('fleet')}?{urlencode(self.query)}" if self.query else ""

    def add(self, band: str, jobs: int, worst: int | None) -> None:
        self.counts[band] = self.counts.get(band, 0) + jobs
        if band in ("poor", "fair", "good") and worst is not None:
            self.worst = worst if self.worst is None else min(self.worst, worst)


def groups(jobs: Any, by: str, clusters: Iterable[Cluster]) -> list[JobGroup]:
    """``by``: ``cluster``, ``family``, or a label. Most critical jobs first."""
    column = FAMILY if by == FAMILY else CLUSTER
    labels = {cluster.name: cluster.labels for cluster in clusters}
    rows = jobs.order_by().values_list(F(column), health_band())
    by_value: dict[str, JobGroup] = {}
    for text, band, number, worst in rows.annotate(jobs=Count("*"), worst=Min("health")):
        value = text if by in (CLUSTER, FAMILY) else str(labels.get(text, {}).get(by, ""))
        group = by_value.get(value) or by_value.setdefault(
            value, JobGroup(value, _query(by, value))
        )
        group.add(band, number, worst)
    return sorted(
        by_value.values(),
        key=lambda group: (
            *(-group.counts.get(band, 0) for band in ("poor", "fair", "unknown")),
            not group.value,
            group.value,
        ),
    )


def _query(by: str, value: str) -> dict[str, str]:
    if not value:
        return {}
    if by in (CLUSTER, FAMILY):
        return {by: value}
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return {"label": f'{by}="{quoted}"'}
