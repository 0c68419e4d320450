"""Reads TaskManagers: the list each time it is due, and memory figures of those requested longest
ago.
"""

import asyncio
from typing import Any
from urllib.parse import quote

from ingest.due import is_due
from ingest.flink_ids import is_taskmanager_id
from ingest.flink_rest import assembly
from ingest.flink_rest.answers import ClusterAnswers
from ingest.flink_rest.cursor import ClusterCursor
from ingest.flink_rest.limits import RequestLimits, SamplingRate
from ingest.flink_rest.metric_names import TASKMANAGER_METRICS, ids
from ingest.flink_rest.session import RestSession
from ingest.records import Observed

DUE_SLACK = 0.8


async def read_taskmanagers(
    session: RestSession,
    cursor: ClusterCursor,
    cluster: str,
    limits: RequestLimits,
    sampling_rate: SamplingRate,
) -> tuple[Observed, ...]:
    now_s = session.at().timestamp()
    oldest = min(cursor.taskmanagers.values(), default=0.0)
    if not is_due(now_s, oldest, sampling_rate.metrics_interval_s * DUE_SLACK):
        return ()
    listed = await session.get_if_affordable("/taskmanagers")
    if listed is None:
        return ()
    names = taskmanager_ids(listed.body)
    cursor.keep_taskmanagers(names)
    due = sorted(names, key=lambda name: cursor.taskmanagers.get(name, 0.0))[
        : limits.taskmanagers_per_cycle
    ]
    reading = ClusterAnswers(taskmanagers=listed)
    await asyncio.gather(
        *(_read_one(session, name, reading) for name in due if session.budget.take(2))
    )
    for name in names:
        cursor.taskmanagers.setdefault(name, 0.0)
    cursor.taskmanagers.update({name: round(now_s, 1) for name in reading.taskmanager_details})
    return assembly.observe_cluster(reading, cluster, "rest")


def taskmanager_ids(body: Any) -> list[str]:
    managers = body.get("taskmanagers") if isinstance(body, dict) else None
    ids = (
        [manager.get("id") for manager in managers if isinstance(manager, dict)]
        if isinstance(managers, list)
        else []
    )
    return list(dict.fromkeys(name for name in ids if is_taskmanager_id(name)))


def taskmanager_path(name: str) -> str:
    return f"/taskmanagers/{quote(name, safe=':')}"


async def _read_one(session: RestSession, name: str, reading: ClusterAnswers) -> None:
    path = taskmanager_path(name)
    detail, metrics = await asyncio.gather(
        session.get(path, may_be_gone=True),
        session.get(f"{path}/metrics?get={','.join(ids(TASKMANAGER_METRICS))}", may_be_gone=True),
    )
    if detail is not None:
        reading.taskmanager_details[name] = detail
    if metrics is not None:
        reading.taskmanager_metrics[name] = [metrics]
