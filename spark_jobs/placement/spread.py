from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spark_jobs.placement.network_buffers import BufferNeed, BufferSettings, buffers_needed
from spark_jobs.placement.plan import Indices, Plan

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """By TaskManager. ``busy_cores``: threads at work. ``tasks_of``: vertices × TaskManagers,
    without tasks of unknown TaskManager.
    """

    tasks_of: Indices
    busy_cores: Reals | None
    buffers: BufferNeed

    @property
    def tasks(self) -> Indices:
        return np.asarray(self.tasks_of.sum(axis=0), dtype=np.int64)

    @property
    def max_over_mean(self) -> float | None:
        mean = float(np.mean(self.tasks)) if len(self.tasks) else 0.0
        return float(np.max(self.tasks)) / mean if mean > 0 else None

    def concentration(self) -> Reals:
        """By vertex: its most subtasks on one TaskManager over the even share (rounded up)."""
        even = -(-self.tasks_of.sum(axis=1) // max(self.tasks_of.shape[1], 1))
        most: Indices = self.tasks_of.max(axis=1, initial=0)
        return np.where(even > 0, most / np.maximum(even, 1), 0.0)


def spread(
    plan: Plan,
    taskmanager_of: Sequence[Indices],
    taskmanagers: int,
    settings: BufferSettings,
    busy_ratio: Sequence[float | None] | None = None,
) -> Spread:
    """``busy_ratio``: by vertex, the mean of its subtasks; unknown for one makes ``busy_cores``
    unknown.
    """
    counts = [np.bincount(where[where >= 0], minlength=taskmanagers) for where in taskmanager_of]
    tasks_of = np.stack(counts) if counts else np.zeros((0, taskmanagers), dtype=np.int64)
    busy = None
    if busy_ratio and all(ratio is not None for ratio in busy_ratio):
        busy = np.asarray(np.array(busy_ratio, dtype=np.float64) @ tasks_of)
    return Spread(tasks_of, busy, buffers_needed(plan, taskmanager_of, taskmanagers, settings))
