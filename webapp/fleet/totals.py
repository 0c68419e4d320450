"""What the address of the fleet page asks for, and the rows that answer it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import quote

from django.core.cache import cache
from django.db.models import Case, Count, Q, Value, When

from webapp.fleet.badges import HEALTH_GROUPS, STATUS_GROUPS
from webapp.fleet.models import JobCurrent
from webapp.fleet.querysets import JobCurrentQuerySet
from webapp.fleet.sorting import FLEET_SORTS, WORST_FIRST, Sort
from webapp.lib.keysets import KeysetColumn
from webapp.lib.list_queries import asked_text

TOTALS_KEPT_S = 10
"""Counting a whole fleet costs more than showing a page of it, and nobody needs it fresher than the pipeline."""

HEAVY = ("graph", "configuration", "checkpoint_config")
_LONGEST_SEARCH = 200


@dataclass(frozen=True)
class FleetQuery:
    """Everything the address says; what it says wrongly is as if unsaid."""

    cluster: str = ""
    status: str = ""
    search: str = ""
    failing: bool = False
    health: str = ""
    sort: Sort = WORST_FIRST
    descending: bool = WORST_FIRST.descending
    cursor: str = ""

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "FleetQuery":
        name = parameters.get("sort", "")
        sort = FLEET_SORTS.get(name.removeprefix("-"), WORST_FIRST)
        status, health = parameters.get("status", ""), parameters.get("health", "")
        return cls(
            cluster=asked_text(parameters, "cluster"),
            status=status if status in STATUS_GROUPS else "",
            search=asked_text(parameters, "q", _LONGEST_SEARCH),
            health=health if health in HEALTH_GROUPS else "",
            failing=parameters.get("failing", "") == "1",
            sort=sort,
            descending=name.startswith("-") if name.removeprefix("-") in FLEET_SORTS else sort.descending,
            cursor=parameters.get("cursor", ""),
        )

    @property
    def keys(self) -> tuple[KeysetColumn, KeysetColumn]:
        return KeysetColumn("sort_key", self.descending, self.sort.key), KeysetColumn("id", self.descending)

    @property
    def is_narrowed(self) -> bool:
        return bool(self.cluster or self.status or self.search or self.health or self.failing)

    def jobs(self, now: datetime) -> JobCurrentQuerySet:
        """Matching jobs with their ``status``, in no order yet."""
        jobs: Any = of_cluster(self.cluster).with_status(now)
        if self.search:
            jobs = jobs.filter(Q(name__icontains=self.search) | Q(job_id__startswith=self.search.lower()))
        if self.status:
            jobs = jobs.filter(status__in=STATUS_GROUPS[self.status].states)
        if self.health:
            jobs = jobs.filter(HEALTH_GROUPS[self.health].condition)
        if self.failing:
            jobs = jobs.filter(recent_failed__gt=0).exclude(terminal=True)
        return cast(JobCurrentQuerySet, jobs)


def of_cluster(cluster: str) -> JobCurrentQuerySet:
    jobs: JobCurrentQuerySet = JobCurrent.objects.all()
    return jobs.filter(cluster=cluster) if cluster else jobs


def totals(cluster: str, now: datetime) -> dict[str, int]:
    """Jobs per health group, and ``total`` of all."""
    return cache.get_or_set(f"fleet-totals:{quote(cluster)}", lambda: _count(cluster, now), TOTALS_KEPT_S) or _count(cluster, now)


def _count(cluster: str, now: datetime) -> dict[str, int]:
    """Grouped, so that the database works out the status of a job once, not once a group."""
    band = Case(*(When(group.condition, then=Value(slug)) for slug, group in HEALTH_GROUPS.items()), default=Value("unknown"))
    by_band: dict[str, int] = dict(of_cluster(cluster).with_status(now).order_by().values_list(band).annotate(jobs=Count("id")))
    return {**{slug: by_band.get(slug, 0) for slug in HEALTH_GROUPS}, "total": sum(by_band.values())}
