"""The time and the buffers of one vertex's subtasks. Time metrics decide, pool usage confirms them.
Traps: an idle all-to-all output keeps one buffer per subpartition. One hot input channel among many
shows only in the usage of floating buffers. A blocked local channel reports 0. Before 1.13 there is
no busy time, and idle time includes back-pressure.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TypeVar

from spark_jobs.diagnosis.record_rates import records_in
from spark_jobs.diagnosis.samples import Edge, VertexWindow
from spark_jobs.diagnosis.topology import is_pointwise

T = TypeVar("T")

# Flink's defaults: 8 floating buffers a pool, 10 a channel. An idle channel keeps 1.
FLOATING_BUFFERS = 8
HOT_CHANNEL_EXTRA_BUFFERS = 9


class Subtasks:
    """The subtasks of one vertex in one window. Figures are None if unknown."""

    __slots__ = ("gates", "idle_has_backpressure", "parallelism", "window")

    def __init__(
        self, window: VertexWindow, *, gates: int = 1, idle_has_backpressure: bool = False
    ) -> None:
        """``gates``: the number of in-edges. ``idle_has_backpressure``: before Flink 1.13."""
        self.window = window
        self.gates = max(1, gates)
        self.idle_has_backpressure = idle_has_backpressure
        self.parallelism = window.parallelism or max(
            map(len, (window.backpressured_ratio, window.busy_ratio, window.in_pool_usage))
        )

    def backpressured(self, subtask: int) -> float | None:
        return value(self.window.backpressured_ratio, subtask)

    def busy(self, subtask: int) -> float | None:
        return value(self.window.busy_ratio, subtask)

    def working(self, subtask: int) -> float | None:
        """The share of the window in which the subtask was not idle."""
        busy = self.busy(subtask)
        backpressured = self.backpressured(subtask)
        idle = value(self.window.idle_ratio, subtask)
        if busy is not None and backpressured is not None:
            return min(1.0, busy + backpressured)
        if idle is None or (self.idle_has_backpressure and backpressured is None):
            return None
        return (
            min(1.0, 1.0 - idle + (backpressured or 0.0))
            if self.idle_has_backpressure
            else 1.0 - idle
        )

    def input_level(self, subtask: int) -> float | None:
        """The larger usage of all buffers and of floating ones; 0 also for local channels."""
        usages = (
            value(self.window.in_pool_usage, subtask),
            value(self.window.floating_usage, subtask),
        )
        return largest(usages)

    def has_empty_input(self, subtask: int, level: float) -> bool:
        """If only the usage of all buffers is known, any usage above 0 may hide one hot channel."""
        total = value(self.window.in_pool_usage, subtask)
        floating = value(self.window.floating_usage, subtask)
        return total == 0 if floating is None else max(total or 0.0, floating) < level

    def records_in_share(self, subtasks: Iterable[int]) -> float | None:
        rates = records_in(self.window).per_s
        total = sum(rate for rate in rates if rate is not None)
        return (
            sum(value(rates, subtask) or 0.0 for subtask in subtasks) / total if total > 0 else None
        )

    def hosts(self, subtasks: Iterable[int]) -> tuple[str, ...]:
        hosts = (value(self.window.host, subtask) for subtask in subtasks)
        return tuple(dict.fromkeys(host for host in hosts if host))

    def taskmanager(self, subtask: int) -> str | None:
        return value(self.window.taskmanager_id, subtask)


def value(values: Sequence[T | None], subtask: int) -> T | None:
    return values[subtask] if subtask < len(values) else None


def held_subtasks(window: VertexWindow, least_ratio: float) -> list[int]:
    return [
        index
        for index, ratio in enumerate(window.backpressured_ratio)
        if ratio is not None and ratio >= least_ratio
    ]


def typical(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return median(present) if present else None


def largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def output_bounds(
    edges: Sequence[Edge], producers: int, consumer_counts: Sequence[int]
) -> tuple[float, float] | None:
    """A subtask's output usage when idle, and with one hot channel. A pool of N subpartitions has
    2N+8 buffers. Each subpartition keeps one when idle; a hot one may take nine more.
    """
    channels = [
        _channels(edge, producers, consumer_count)
        for edge, consumer_count in zip(edges, consumer_counts, strict=True)
        if consumer_count
    ]
    if not channels:
        return None
    idle, pool = sum(channels), sum(2 * count + FLOATING_BUFFERS for count in channels)
    return idle / pool, min(1.0, (idle + HOT_CHANNEL_EXTRA_BUFFERS) / pool)


def _channels(edge: Edge, producers: int, consumer_count: int) -> int:
    if is_pointwise(edge, producers, consumer_count):
        return max(1, -(-consumer_count // producers))
    return consumer_count
