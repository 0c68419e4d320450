"""Network buffers without which tasks of a streaming job fail, by TaskManager. A subtask owns
``buffers_per_channel`` for each input channel with a remote producer, and one for each subpartition
plus one (Flink: SingleInputGate, NettyShuffleUtils).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spark_jobs.placement.plan import Indices, Plan, PlannedEdge, consumers_of_each, producers

Buffers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BufferSettings:
    """Flink's defaults of all versions from 1.12 to 2.3."""

    buffers_per_channel: int = 2
    segment_bytes: int = 32 * 1024


def buffers_needed(
    plan: Plan, taskmanager_of: Sequence[Indices], taskmanagers: int, settings: BufferSettings
) -> Buffers:
    """``taskmanager_of``: by vertex, the TaskManager of each subtask. Below 0 is unknown, and
    counts as remote to all others.
    """
    needed = np.zeros(taskmanagers, dtype=np.int64)
    tasks = [np.bincount(where[where >= 0], minlength=taskmanagers) for where in taskmanager_of]
    for edge in plan.edges:
        source = plan.vertices[edge.source].parallelism
        target = plan.vertices[edge.target].parallelism
        if edge.is_pointwise:
            written = _sum_by(
                taskmanager_of[edge.source], consumers_of_each(source, target), taskmanagers
            )
            remote = _sum_by(
                taskmanager_of[edge.target],
                _remote_pointwise(edge, source, target, taskmanager_of),
                taskmanagers,
            )
        else:
            written = tasks[edge.source] * target
            remote = tasks[edge.target] * (source - tasks[edge.source])
        exclusive = remote * settings.buffers_per_channel
        # One gate and one result partition for each edge and subtask.
        needed += exclusive + tasks[edge.target] + written + tasks[edge.source]
    return needed


def _remote_pointwise(
    edge: PlannedEdge, source: int, target: int, taskmanager_of: Sequence[Indices]
) -> Indices:
    first, end = producers(source, target)
    here, there = taskmanager_of[edge.target], taskmanager_of[edge.source]
    remote = np.zeros(target, dtype=np.int64)
    for offset in range(int((end - first).max(initial=0))):
        producer = np.minimum(first + offset, source - 1)
        remote += (first + offset < end) & ((there[producer] != here) | (here < 0))
    return remote


def _sum_by(taskmanager: Indices, values: Indices, taskmanagers: int) -> Buffers:
    known = taskmanager >= 0
    return np.bincount(taskmanager[known], weights=values[known], minlength=taskmanagers).astype(
        np.int64
    )
