"""All work there is: which keys, how often, on which queue, and what does it."""

from collections.abc import Mapping

from django.conf import settings
from django.utils import timezone

from webapp.alerting import waking
from webapp.config import schedule
from webapp.delivery import outbox
from webapp.fleet.models import Cluster
from webapp.pipeline import rollups
from webapp.reports import due as reports
from webapp.storage.models import CleanupPlan, StorageAudit, StorageRoot

COLLECT = "collect/"
"""With a shard's number."""
SPARK_CYCLE = "spark/cycle"
ROLLUPS = rollups.KEY
AUDIT, AUDIT_BY_HAND, AGE_RULES = "storage/audit", "storage/by-hand", "storage/age-rules"
"""``AUDIT_BY_HAND`` is claimed by commands only, and never due."""
PLAN = "storage/plan-"
"""With a plan's number: there while the plan has something to do."""
RETENTION = "maintenance/retention"
LAKE = "maintenance/lake"
ALERTING = waking.KEY
"""Findings into alerts; what is news is hinted at besides."""
DELIVERY = outbox.KEY
"""There always: a cheap look for deliveries whose time has come. What is due at once is hinted at besides."""

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
PLAN_S = 600
"""Between two tries of a plan; a clean-up is never urgent."""

TASK_OF_KIND = {
    "collect": "pipeline.collect",
    "spark": "pipeline.spark_cycle",
    "rollups": rollups.TASK,
    "storage": "pipeline.audit_storage",
    "maintenance": "pipeline.maintain",
    "reports": reports.TASK,
    "alerts": waking.TASK,
    "delivery": outbox.TASK,
}


def collect_key(shard: int) -> str:
    return f"{COLLECT}{shard}"


def shard_of(key: str) -> int:
    return int(key.removeprefix(COLLECT))


def plan_of(key: str) -> int:
    return int(key.removeprefix(PLAN))


def intervals_s() -> dict[str, int]:
    """Key → seconds between two runs, for everything that should be running now."""
    shards = Cluster.objects.collected().order_by().values_list("shard", flat=True).distinct()
    return {
        **{collect_key(shard): settings.WEIR.collect_interval_s for shard in shards},
        SPARK_CYCLE: settings.WEIR.spark_interval_s,
        ROLLUPS: settings.WEIR.rollups_interval_s,
        **_storage_s(),
        **{f"{PLAN}{pk}": PLAN_S for pk in CleanupPlan.objects.due(timezone.now()).values_list("pk", flat=True)},
        ALERTING: schedule.TICK_S,
        DELIVERY: schedule.TICK_S,
        **reports.intervals_s(),
        RETENTION: HOUR_S,
        LAKE: DAY_S,
    }


def _storage_s() -> dict[str, int]:
    """All roots are audited together, since files of one may be referred to from another: the shortest wish counts."""
    hours = list(StorageRoot.objects.audited().values_list("audit_every_h", flat=True))
    audits = {AUDIT: HOUR_S * min(wish or settings.WEIR.storage_audit_h for wish in hours)} if hours else {}
    return {**audits, AGE_RULES: MINUTE_S} if audits or StorageAudit.objects.exists() else {}


def queue_of(key: str) -> str:
    """The queue whose worker does it."""
    routes: Mapping[str, Mapping[str, str]] = schedule.ROUTES
    return routes[TASK_OF_KIND[key.partition("/")[0]]]["queue"]
