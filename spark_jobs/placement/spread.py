from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spark_jobs.placement.network_buffers import BufferSettings, buffers_needed
from spark_jobs.placement.plan import Indices, Plan

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """``tasks_of``: vertices × TaskManagers. ``buffers``: needed by each TaskManager's tasks
    (``buffers_needed``). Tasks whose TaskManager is unknown are not counted.
    """

    tasks_of: Indices
    buffers: Indices

    @property
    def tasks(self) -> Indices:
        """Number by TaskManager."""
        return np.asarray(self.tasks_of.sum(axis=0), dtype=np.int64)

    @property
    def max_over_mean(self) -> float | None:
        mean = float(np.mean(self.tasks)) if len(self.tasks) else 0.0
        return float(np.max(self.tasks)) / mean if mean > 0 else None

    def concentration(self) -> Reals:
        """By vertex: most subtasks on one TaskManager, divided by the even share (rounded up)."""
        even_share = -(-self.tasks_of.sum(axis=1) // max(self.tasks_of.shape[1], 1))
        most: Indices = self.tasks_of.max(axis=1, initial=0)
        return np.where(even_share > 0, most / np.maximum(even_share, 1), 0.0)


def spread(
    plan: Plan,
    taskmanager_of: Sequence[Indices],
    taskmanagers: int,
    settings: BufferSettings,
) -> Spread:
    counts = [np.bincount(index[index >= 0], minlength=taskmanagers) for index in taskmanager_of]
    tasks_of = np.stack(counts) if counts else np.zeros((0, taskmanagers), dtype=np.int64)
    return Spread(tasks_of, buffers_needed(plan, taskmanager_of, taskmanagers, settings))
