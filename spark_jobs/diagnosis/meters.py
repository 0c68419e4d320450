"""How far to trust Flink's meters (``num…PerSecond``, means of the last minute)."""

from statistics import median

from spark_jobs.diagnosis.pressure import value
from spark_jobs.diagnosis.samples import JobWindow, VertexWindow
from spark_jobs.diagnosis.unevenness import REPORTING_SHARE, Spread, spread

METER_MS = 70_000
"""A meter is a mean of the last minute, collected every ten seconds."""
WORKS_MORE = 1.5
"""Non-idle time of a hot subtask over that of a typical sibling."""
STARTS = ("deploy", "restart", "restore", "rescale")


def meters_agree(vertex: VertexWindow, is_source: bool, counted: Spread, ratio: float) -> bool:
    """Whether a subtask is hot by counter and by meter: TaskManagers report counters at different
    times. True if too few meters are known.
    """
    meters = (
        [rate or None for rate in vertex.records_out_per_s]
        if is_source
        else vertex.records_in_per_s
    )
    if not any(meters) or sum(rate is not None for rate in meters) < REPORTING_SHARE * len(meters):
        return True
    metered = spread(meters, ratio, 0.0, 0.0)
    return metered is not None and not set(metered.top).isdisjoint(counted.top)


def meters_are_of_now(window: JobWindow, vertex: VertexWindow, metered: Spread) -> bool:
    """Whether no task began in the minute of the meters, and hot subtasks work more than others."""
    since_ms = window.window_start_ms - METER_MS
    if any(since_ms < at_ms <= window.at_ms for at_ms in _start_times(window)):
        return False
    work_shares = [None if idle is None else 1 - idle for idle in vertex.idle_ratio]
    hot = [share for index in metered.top if (share := value(work_shares, index)) is not None]
    others = [
        share
        for index, share in enumerate(work_shares)
        if share is not None and index not in metered.top
    ]
    return bool(hot and others) and max(hot) >= WORKS_MORE * median(others)


def has_start(window: JobWindow) -> bool:
    """Whether tasks began in this window: buffers fill, and late subtasks have no records yet."""
    return any(window.window_start_ms < at_ms <= window.at_ms for at_ms in _start_times(window))


def _start_times(window: JobWindow) -> list[float]:
    times: list[float] = [
        annotation.at_ms + (annotation.detail.get("downtime_ms") or 0)
        for annotation in window.annotations
        if annotation.kind in STARTS
    ]
    if window.start_time_ms is not None:
        times.append(window.start_time_ms)
    return times + [start.running_at_ms for start in window.starts]
