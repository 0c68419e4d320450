from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext

from webapp.fleet.freshness import late_before
from webapp.fleet.models import OVER, Cluster, JobCurrent
from webapp.fleet.pipeline_status import alarms, writability
from webapp.fleet.pipeline_status.problems import Problem
from webapp.lib import scopes
from webapp.work.keys import CYCLE
from webapp.work.models import DueWork, Manifest

CACHE_KEY = "pipeline-status"
CACHED_FOR_S = 5


@dataclass(frozen=True)
class PipelineStatus:
    """``judged_to``: last judgement of running jobs of clusters that answer. ``loaded_at``: when
    data last arrived. ``spark_at``: the last successful cycle.
    """

    at: datetime
    ever_ran: bool
    collected_at: datetime | None
    spark_at: datetime | None
    loaded_at: datetime | None
    judged_to: datetime | None
    live_clusters: int
    unreachable_clusters: int
    problems: tuple[Problem, ...]

    @property
    def is_stale(self) -> bool:
        if not self.live_clusters:
            return False
        since = late_before(self.at)
        is_judged_late = self.judged_to is not None and self.judged_to < since
        return is_judged_late or any(
            at is None or at < since for at in (self.collected_at, self.spark_at)
        )

    @property
    def is_healthy(self) -> bool:
        return not self.problems and not self.is_stale

    @property
    def is_present(self) -> bool:
        """Weir runs, nothing is late, and every cluster answers."""
        return self.is_healthy and not self.unreachable_clusters


def status(now: datetime) -> PipelineStatus:
    """Within the reader's scope."""
    # Everybody may know whether Weir runs, but not the clusters that problems name.
    with scopes.everything():
        problems = tuple(writability.problems() + alarms.problems(now))
    if not scopes.current().is_everything:
        problems = tuple(
            Problem(problem.code, "", gettext("An administrator of Weir sees what it is."))
            for problem in problems
        )
    work = DueWork.objects.filter(key=CYCLE).first()
    live = Cluster.objects.collected()
    live_figures = live.aggregate(at=Max("last_success_at"), clusters=Count("id"))
    return PipelineStatus(
        at=now,
        ever_ran=work is not None,
        collected_at=live_figures["at"],
        spark_at=work.last_success_at if work else None,
        loaded_at=Manifest.objects.filter(state=Manifest.State.LOADED).aggregate(
            at=Max("loaded_at")
        )["at"],
        judged_to=_judged_to(now),
        live_clusters=live_figures["clusters"],
        unreachable_clusters=live.meant_to_run()
        .filter(last_collected_at__isnull=False)
        .unseen(now)
        .count(),
        problems=problems,
    )


def _judged_to(now: datetime) -> datetime | None:
    answering = Cluster.objects.collected().exclude(pk__in=Cluster.objects.unseen(now).values("pk"))
    # Sorted by an index: the job that was judged last usually matches.
    judged = (
        JobCurrent.objects.filter(judged_at__isnull=False, cluster__in=answering.values("name"))
        .exclude(OVER)
        .order_by("-judged_at")
    )
    return judged.values_list("judged_at", flat=True).first()


def recent_status() -> PipelineStatus:
    """At most five seconds old."""
    cached = cache.get(CACHE_KEY)
    if isinstance(cached, PipelineStatus):
        return cached
    fresh = status(timezone.now())
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh


def context(request: HttpRequest) -> dict[str, Any]:
    return {"pipeline_status": SimpleLazyObject(recent_status)}
