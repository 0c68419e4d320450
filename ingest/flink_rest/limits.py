import math
from dataclasses import dataclass, replace

MAX_PATH_BYTES = 3_900
"""Flink refuses request lines above 4,096 bytes, with method and protocol."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    requests: int = 3_000
    """Of one cycle: at 2 at once and 5 ms each 8 s."""
    requests_per_job: int = 400
    requests_per_vertex: int = 25
    """For subtask metrics: covers 350 subtasks."""
    cycle_timeout_s: float = 45
    """Writing takes a few seconds more; the whole shall fit into a minute."""
    taskmanagers_per_cycle: int = 40
    small_job_subtasks: int = 64
    """Jobs up to this size give subtask details of every checkpoint."""
    sample_every: int = 10
    slow_ms: int = 60_000
    refresh_s: float = 300
    """What changes with the job only: graph, exceptions, restarts, hosts."""
    static_refresh_s: float = 900
    """Configuration of cluster and checkpoints."""


@dataclass(frozen=True, slots=True)
class SamplingRate:
    """``lean`` leaves out what only repeats for healthy jobs."""

    metrics_interval_s: float
    lean: bool


MAX_STRETCH = 20


def sampling_rate(
    wanted_interval_s: float, cycle_s: float, jobs: int, vertices: int, limits: RequestLimits
) -> SamplingRate:
    if 5 * jobs + 3 * vertices <= limits.requests:
        return SamplingRate(wanted_interval_s, lean=False)
    left = max(limits.requests - 1.8 * jobs, limits.requests / 10)
    cycles = min(MAX_STRETCH, math.ceil((3 * jobs + vertices) / left))
    return SamplingRate(max(wanted_interval_s, cycles * cycle_s), lean=True)


def limits_per_cluster(total_requests: int, sources: int, limits: RequestLimits) -> RequestLimits:
    """Of each of ``sources`` clusters of a shard, which makes ``total_requests`` per cycle."""
    share = max(60, min(limits.requests, total_requests // max(1, sources)))
    return replace(
        limits,
        requests=share,
        requests_per_job=min(limits.requests_per_job, share),
        taskmanagers_per_cycle=min(limits.taskmanagers_per_cycle, max(2, share // 20)),
    )


class Budget:
    def __init__(self, requests: int, parent: "Budget | None" = None) -> None:
        self._left, self._parent = requests, parent
        self.left_out = 0

    @property
    def left(self) -> int:
        return min(self._left, self._parent.left) if self._parent else self._left

    def take(self, count: int = 1) -> bool:
        """Reserve ``count`` requests, or none, which are counted as left out."""
        if count > self.left:
            self.leave_out(count)
            return False
        self._spend(count)
        return True

    def reserve(self, count: int) -> None:
        self._left = max(0, self._left - count)

    def leave_out(self, count: int) -> None:
        self.left_out += count
        if self._parent:
            self._parent.leave_out(count)

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._parent:
            self._parent._spend(count)
