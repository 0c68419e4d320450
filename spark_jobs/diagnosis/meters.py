"""How far to trust Flink's meters (``num…PerSecond``, means of the last minute)."""

from statistics import median

from spark_jobs.diagnosis.pressure import value
from spark_jobs.diagnosis.samples import JobWindow, VertexWindow
from spark_jobs.diagnosis.unevenness import REPORTING_SHARE, Spread, spread

METER_MS = 70_000
"""A meter shows the past for this long: a minute, collected every ten seconds."""
WORKS_MORE = 1.5
"""A hot subtask's non-idle time, in multiples of the typical sibling's."""
STARTS = ("deploy", "restart", "restore", "rescale")


def meters_agree(vertex: VertexWindow, is_source: bool, counted: Spread, ratio: float) -> bool:
    """Whether the known meters show one of the same subtasks as hot: counters of two TaskManagers
    may be collected at different times.
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
    """No task began within their minute, and their hot subtasks work more than the others."""
    return not _remembers_start(window) and _works_more(vertex, metered)


def holds_start(window: JobWindow) -> bool:
    """Whether tasks began to run within this window: buffers still fill, and late subtasks have no
    records.
    """
    return any(window.window_start_ms < at_ms <= window.at_ms for at_ms in _start_times(window))


def _remembers_start(window: JobWindow) -> bool:
    return any(
        window.window_start_ms - METER_MS < at_ms <= window.at_ms for at_ms in _start_times(window)
    )


def _start_times(window: JobWindow) -> list[float]:
    started: list[float] = [
        annotation.at_ms + (annotation.detail.get("downtime_ms") or 0)
        for annotation in window.annotations
        if annotation.kind in STARTS
    ]
    started += [window.start_time_ms] if window.start_time_ms is not None else []
    return started + [start.running_at_ms for start in window.starts]


def _works_more(vertex: VertexWindow, metered: Spread) -> bool:
    works = [None if idle is None else 1 - idle for idle in vertex.idle_ratio]
    hot = [share for index in metered.top if (share := value(works, index)) is not None]
    others = [
        share for index, share in enumerate(works) if share is not None and index not in metered.top
    ]
    return bool(hot and others) and max(hot) >= WORKS_MORE * median(others)
