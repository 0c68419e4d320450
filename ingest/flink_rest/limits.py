import math
from dataclasses import dataclass, replace

MAX_PATH_BYTES = 3_900


@dataclass(frozen=True, slots=True)
class RequestLimits:
    requests: int = 3_000
    """In one cycle: 8 s for 2 concurrent requests of 5 ms each."""
    requests_per_job: int = 400
    requests_per_vertex: int = 25
    cycle_timeout_s: float = 45
    """With a few seconds for writing, the cycle fits into a minute."""
    taskmanagers_per_cycle: int = 40
    small_job_subtasks: int = 64
    """For jobs up to this size, subtask details of every checkpoint are read."""
    sample_every: int = 10
    """Of other jobs, subtask details of each tenth completed checkpoint are read."""
    slow_ms: int = 60_000
    """Subtask details of checkpoints this long are always read."""
    refresh_s: float = 300
    """Interval for graph, exceptions, restarts and hosts of an unchanged job."""
    static_refresh_s: float = 900
    """Interval for the configuration of cluster and checkpoints."""


@dataclass(frozen=True, slots=True)
class SamplingRate:
    """``lean``: requests whose answers seldom change for healthy jobs are left out."""

    metrics_interval_s: float
    lean: bool


MAX_STRETCH = 20


def sampling_rate(
    configured_interval_s: float, cycle_s: float, jobs: int, vertices: int, limits: RequestLimits
) -> SamplingRate:
    """The configured rate if a sample (5 requests a job, 3 a vertex) fits into a cycle. Else a lean
    sample (3 and 1), perhaps in several cycles.
    """
    if 5 * jobs + 3 * vertices <= limits.requests:
        return SamplingRate(configured_interval_s, lean=False)
    available = max(limits.requests - 1.8 * jobs, limits.requests / 10)
    cycles = min(MAX_STRETCH, math.ceil((3 * jobs + vertices) / available))
    return SamplingRate(max(configured_interval_s, cycles * cycle_s), lean=True)


def limits_per_cluster(total_requests: int, sources: int, limits: RequestLimits) -> RequestLimits:
    """Limits of one of ``sources`` clusters, which share ``total_requests`` per cycle."""
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
        """Whether all ``count`` requests fit; if not, they are counted as left out."""
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
