"""The fewest network buffers that tasks of a streaming job need, by TaskManager. For each edge, a
subtask needs ``buffers_per_channel`` for each remote producer, one for each subpartition, and one
each for its gate and its result partition (Flink: SingleInputGate, NettyShuffleUtils).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spark_jobs.placement.plan import Indices, Plan, PlannedEdge, consumers_of_each, producer_ranges

Buffers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BufferSettings:
    """Flink's defaults of all versions from 1.12 to 2.3."""

    buffers_per_channel: int = 2
    segment_bytes: int = 32 * 1024


def buffers_needed(
    plan: Plan, taskmanager_of: Sequence[Indices], taskmanagers: int, settings: BufferSettings
) -> Buffers:
    """``taskmanager_of``: by vertex, the index of each subtask's TaskManager. An unknown
    TaskManager is below 0, and counts as remote to all others.
    """
    needed = np.zeros(taskmanagers, dtype=np.int64)
    tasks = [np.bincount(index[index >= 0], minlength=taskmanagers) for index in taskmanager_of]
    for edge in plan.edges:
        producers = plan.vertices[edge.source].parallelism
        consumers = plan.vertices[edge.target].parallelism
        if edge.is_pointwise:
            written = _sum_by(
                taskmanager_of[edge.source], consumers_of_each(producers, consumers), taskmanagers
            )
            remote = _sum_by(
                taskmanager_of[edge.target],
                _remote_pointwise(edge, producers, consumers, taskmanager_of),
                taskmanagers,
            )
        else:
            written = tasks[edge.source] * consumers
            remote = tasks[edge.target] * (producers - tasks[edge.source])
        exclusive = remote * settings.buffers_per_channel
        needed += exclusive + tasks[edge.target] + written + tasks[edge.source]
    return needed


def _remote_pointwise(
    edge: PlannedEdge, producer_count: int, consumer_count: int, taskmanager_of: Sequence[Indices]
) -> Indices:
    first, end = producer_ranges(producer_count, consumer_count)
    consumer_at, producer_at = taskmanager_of[edge.target], taskmanager_of[edge.source]
    remote = np.zeros(consumer_count, dtype=np.int64)
    for offset in range(int((end - first).max(initial=0))):
        producer = np.minimum(first + offset, producer_count - 1)
        remote += (first + offset < end) & (
            (producer_at[producer] != consumer_at) | (consumer_at < 0)
        )
    return remote


def _sum_by(taskmanager: Indices, values: Indices, taskmanagers: int) -> Buffers:
    is_known = taskmanager >= 0
    return np.bincount(
        taskmanager[is_known], weights=values[is_known], minlength=taskmanagers
    ).astype(np.int64)
