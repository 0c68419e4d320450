"""All work there is: which keys, how often, on which queue, and what does it."""

from collections.abc import Mapping

from django.conf import settings

from webapp.config import schedule
from webapp.fleet.models import Cluster

SPARK_CYCLE = "spark/cycle"
RETENTION = "maintenance/retention"
LAKE = "maintenance/lake"

HOUR_S, DAY_S = 3600, 86_400

TASK_OF_KIND = {"collect": "pipeline.collect", "spark": "pipeline.spark_cycle", "maintenance": "pipeline.maintain"}


def collect_key(shard: int) -> str:
    return f"collect/{shard}"


def shard_of(key: str) -> int:
    return int(key.removeprefix("collect/"))


def intervals_s() -> dict[str, int]:
    """Key → seconds between two runs, for everything that should be running now."""
    shards = Cluster.objects.collected().order_by().values_list("shard", flat=True).distinct()
    return {
        **{collect_key(shard): settings.WEIR.collect_interval_s for shard in shards},
        SPARK_CYCLE: settings.WEIR.spark_interval_s,
        RETENTION: HOUR_S,
        LAKE: DAY_S,
    }


def queue_of(key: str) -> str:
    """The queue whose worker does it."""
    routes: Mapping[str, Mapping[str, str]] = schedule.ROUTES
    return routes[TASK_OF_KIND[key.partition("/")[0]]]["queue"]
