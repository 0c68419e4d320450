"""Reads TaskManagers: the list each time it is due, and memory figures of those asked longest ago."""

import asyncio
from typing import Any
from urllib.parse import quote

from ingest.due import is_due
from ingest.flink_ids import is_taskmanager_id
from ingest.flink_rest import assembly
from ingest.flink_rest.asking import Asking
from ingest.flink_rest.cursor import ClusterCursor
from ingest.flink_rest.metric_names import TASKMANAGER_METRICS, ids
from ingest.flink_rest.pace import Pace, Rhythm
from ingest.flink_rest.readings import ClusterReading
from ingest.records import Observed

DUE_SLACK = 0.8


async def read_taskmanagers(asking: Asking, cursor: ClusterCursor, cluster: str, pace: Pace, rhythm: Rhythm) -> tuple[Observed, ...]:
    """Samples of the TaskManagers that are due; at most ``pace.taskmanagers_per_cycle`` of them."""
    now_s = asking.at().timestamp()
    oldest = min(cursor.taskmanagers.values(), default=0.0)
    if not is_due(now_s, oldest, rhythm.metrics_interval_s * DUE_SLACK):
        return ()
    listed = await asking.get_if_affordable("/taskmanagers")
    if listed is None:
        return ()
    names = taskmanager_ids(listed.body)
    cursor.keep_only(cursor.jobs, names)
    due = sorted(names, key=lambda name: cursor.taskmanagers.get(name, 0.0))[: pace.taskmanagers_per_cycle]
    reading = ClusterReading(taskmanagers=listed)
    await asyncio.gather(*(_read_one(asking, name, reading) for name in due if asking.budget.take(2)))
    for name in names:
        cursor.taskmanagers.setdefault(name, 0.0)
    cursor.taskmanagers.update({name: round(now_s, 1) for name in reading.taskmanager_details})
    return assembly.observe_cluster(reading, cluster, "rest")


def taskmanager_ids(body: Any) -> list[str]:
    """Ids of ``/taskmanagers``, of whatever is readable."""
    managers = body.get("taskmanagers") if isinstance(body, dict) else None
    found = [manager.get("id") for manager in managers if isinstance(manager, dict)] if isinstance(managers, list) else []
    return list(dict.fromkeys(name for name in found if is_taskmanager_id(name)))


def taskmanager_path(name: str) -> str:
    """``/taskmanagers/<id>``; ids hold host and port, on YARN container names."""
    return f"/taskmanagers/{quote(name, safe=':')}"


async def _read_one(asking: Asking, name: str, reading: ClusterReading) -> None:
    path = taskmanager_path(name)
    detail, metrics = await asyncio.gather(
        asking.get(path, may_be_gone=True), asking.get(f"{path}/metrics?get={','.join(ids(TASKMANAGER_METRICS))}", may_be_gone=True)
    )
    if detail is not None:
        reading.taskmanager_details[name] = detail
    if metrics is not None:
        reading.taskmanager_metrics[name] = [metrics]
