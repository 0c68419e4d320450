"""Samples of the lake: on which TaskManager each subtask of a job runs, and slots and network
memory of these TaskManagers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ingest.job_states import TERMINAL_STATES
from webapp.work.lake import lake, read_newest

LOOK_BACK = timedelta(minutes=10)
LARGEST_READ = 2_000_000
MOST_VALUES = 2_000_000
MOST_TASKMANAGER_SAMPLES = 100_000
_VERTEX_COLUMNS = ("vertex_id", "ts", "taskmanager_id", "task_state")
_TASKMANAGER_COLUMNS = (
    "taskmanager_id",
    "ts",
    "host",
    "slots",
    "network_memory_total_bytes",
)


@dataclass(frozen=True)
class SampledVertex:
    """``taskmanagers``: by subtask, None if unknown or the task ended."""

    at: datetime
    taskmanagers: Sequence[str | None]


@dataclass(frozen=True)
class SampledTaskManager:
    host: str | None = None
    slots: int | None = None
    network_bytes: int | None = None


@dataclass(frozen=True)
class Sampled:
    vertices: Mapping[str, SampledVertex] = field(default_factory=dict)
    taskmanagers: Mapping[str, SampledTaskManager] = field(default_factory=dict)

    @property
    def at(self) -> datetime | None:
        return max((vertex.at for vertex in self.vertices.values()), default=None)


def read_samples(cluster: str, job_id: str, tasks: int, at: datetime) -> Sampled:
    """The newest sample of each vertex before ``at``."""
    row_limit = max(500, MOST_VALUES // max(tasks, 1))
    rows, start = read_newest(
        "vertex_metrics",
        {"cluster": cluster, "job_id": job_id},
        at - LOOK_BACK,
        at,
        _VERTEX_COLUMNS,
        row_limit,
    )
    vertices = {
        row["vertex_id"]: _vertex(row)
        for row in _oldest_first(rows.to_pylist())
        if row["taskmanager_id"]
    }
    used_taskmanagers = {
        taskmanager for vertex in vertices.values() for taskmanager in vertex.taskmanagers
    }
    cluster_rows = lake().read(
        "taskmanagers",
        where={"cluster": cluster},
        from_time=start,
        to_time=at,
        columns=_TASKMANAGER_COLUMNS,
        limit=MOST_TASKMANAGER_SAMPLES,
    )
    sampled_at = max((vertex.at for vertex in vertices.values()), default=at)
    # What a TaskManager used after the job ended says nothing about the job.
    samples = [
        row
        for row in cluster_rows.to_pylist()
        if row["taskmanager_id"] in used_taskmanagers and row["ts"] <= sampled_at
    ]
    newest = {row["taskmanager_id"]: row for row in _oldest_first(samples)}
    taskmanagers = {
        name: SampledTaskManager(row["host"], row["slots"], row["network_memory_total_bytes"])
        for name, row in newest.items()
    }
    return Sampled(vertices, taskmanagers)


def _oldest_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["ts"])


def _vertex(row: Mapping[str, Any]) -> SampledVertex:
    states = row["task_state"] or ()
    taskmanagers = [
        None if subtask < len(states) and states[subtask] in TERMINAL_STATES else taskmanager
        for subtask, taskmanager in enumerate(row["taskmanager_id"])
    ]
    return SampledVertex(row["ts"], taskmanagers)
