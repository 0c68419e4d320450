"""The trend of a source's lag, and when the source catches up. Slopes are medians over all pairs of
points; bounds are the 10th and 90th percentile.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.statistics import quantile, slopes

Point = tuple[int, float]
"""Epoch ms and lag."""
LEAST_POINTS, LEAST_SPAN_MS = 3, 90_000


@dataclass(frozen=True)
class LagTrend:
    """Change per second in the unit of the lag, negative while a source catches up."""

    per_s: float
    low_per_s: float
    high_per_s: float


@dataclass(frozen=True)
class CatchUp:
    """``s``: seconds until the source has caught up. ``latest_s``: upper bound, None if there is
    none.
    """

    s: float
    latest_s: float | None


def aligned_vertices(window: JobWindow) -> set[str]:
    """Ids of sources that are ahead, so that watermark alignment makes them wait."""
    return {
        gauges.vertex_id
        for gauges in window.gauges
        if gauges.split_paused_ms_per_s or (gauges.alignment_drift_ms or 0) > 0
    }


def lag_trend(points: Iterable[Point]) -> LagTrend | None:
    history = sorted(dict(points).items())
    if len(history) < LEAST_POINTS or history[-1][0] - history[0][0] < LEAST_SPAN_MS:
        return None
    per_s = slopes(history, 1000)
    return LagTrend(median(per_s), quantile(per_s, 0.1), quantile(per_s, 0.9))


def catch_up(lag: float, trend: LagTrend | None) -> CatchUp | None:
    """None if the lag does not fall."""
    if trend is None or trend.per_s >= 0:
        return None
    latest = lag / -trend.high_per_s if trend.high_per_s < 0 else None
    return CatchUp(lag / -trend.per_s, latest)
