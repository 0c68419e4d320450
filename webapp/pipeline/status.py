"""How fresh what the pages show is, and whether the pipeline runs."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.db.models import Max
from django.utils import timezone

from webapp.fleet.models import Cluster
from webapp.pipeline import audit
from webapp.pipeline.audit import Problem
from webapp.pipeline.models import DueWork, Manifest
from webapp.pipeline.work import SPARK_CYCLE

CACHE_KEY = "pipeline-status"
CACHED_FOR_S = 5


@dataclass(frozen=True)
class PipelineStatus:
    """``loaded_at``: when data last came in. ``spark_at``: when a cycle last found all of the lake loaded."""

    at: datetime
    ever_ran: bool
    collected_at: datetime | None
    spark_at: datetime | None
    loaded_at: datetime | None
    live_clusters: int
    blind_clusters: int
    problems: tuple[Problem, ...]

    @property
    def is_stale(self) -> bool:
        """Live clusters are not shown as they are now."""
        if not self.live_clusters:
            return False
        between_s = settings.WEIR.judged_every_s + max(settings.WEIR.spark_interval_s, audit.LEAST_INTERVAL_S)
        allowed = timedelta(seconds=audit.MISSED_CYCLES * between_s)
        return any(seen is None or seen < self.at - allowed for seen in (self.collected_at, self.spark_at))

    @property
    def is_healthy(self) -> bool:
        return not self.problems and not self.is_stale


def status(now: datetime) -> PipelineStatus:
    """Read it from the database: five small queries."""
    work = DueWork.objects.filter(key=SPARK_CYCLE).first()
    live = Cluster.objects.collected()
    return PipelineStatus(
        at=now,
        ever_ran=work is not None,
        collected_at=live.aggregate(at=Max("last_success_at"))["at"],
        spark_at=work.last_success_at if work else None,
        loaded_at=Manifest.objects.filter(state=Manifest.State.LOADED).aggregate(at=Max("loaded_at"))["at"],
        live_clusters=live.count(),
        blind_clusters=live.filter(last_collected_at__isnull=False).unseen(now).count(),
        problems=tuple(audit.problems(now)),
    )


def recent_status() -> PipelineStatus:
    """The same, at most five seconds old."""
    known = cache.get(CACHE_KEY)
    if isinstance(known, PipelineStatus):
        return known
    fresh = status(timezone.now())
    cache.set(CACHE_KEY, fresh, CACHED_FOR_S)
    return fresh
