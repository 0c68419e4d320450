"""Computes a job's growth from its days: slopes, and when a limit is reached. The slope is that of
Theil and Sen, the median over all pairs of days, on which compactions and outliers have little
effect. Days are ordinals of UTC days.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from spark_jobs.diagnosis.statistics import quantile

WINDOWS = (7, 30, 90)
LEAST_DAYS = 4
LEAST_SHARE = 0.5
MOST_POINTS = 20
FURTHEST_DAYS = 3_650
"""Later dates are too uncertain to be shown."""


@dataclass(frozen=True)
class Slope:
    """Change per day; ``low`` and ``high``: 10th and 90th percentile over the pairs of days.
    ``level``: value of the line on the newest day.
    """

    level: float
    per_day: float
    low: float
    high: float

    def days_until(self, limit: float) -> float | None:
        """None if the limit is not reached at this slope, or not within ten years."""
        if limit <= self.level:
            return 0.0
        days = (limit - self.level) / self.per_day if self.per_day > 0 else None
        return days if days is not None and days <= FURTHEST_DAYS else None


def slope(values: Mapping[int, float], window: int, newest: int) -> Slope | None:
    """The slope of ``values`` (day → value) in the window that ends with ``newest``. None if there
    are too few days, or if they span too little of the window.
    """
    days = [day for day in sorted(values) if newest - window < day <= newest]
    if len(days) < LEAST_DAYS or days[-1] - days[0] + 1 < LEAST_SHARE * window:
        return None
    points = days[::-1][:: ceil(len(days) / MOST_POINTS)]
    slopes = [
        (values[later] - values[earlier]) / (later - earlier)
        for index, later in enumerate(points)
        for earlier in points[index + 1 :]
    ]
    per_day = median(slopes)
    level = median(values[day] + per_day * (points[0] - day) for day in points)
    return Slope(
        level, per_day, min(quantile(slopes, 0.1), per_day), max(quantile(slopes, 0.9), per_day)
    )


def filled(values: Mapping[int, float], last: int) -> dict[int, float]:
    """Fill days without a completed checkpoint, up to ``last``, with the value of the day before."""
    all_days: dict[int, float] = {}
    if values:
        value = values[min(values)]
        for day in range(min(values), max(last, max(values)) + 1):
            value = all_days[day] = values.get(day, value)
    return all_days


def total(series: Sequence[Mapping[int, float]]) -> dict[int, float]:
    sums: dict[int, float] = {}
    for entry in series:
        for day, value in entry.items():
            sums[day] = sums.get(day, 0) + value
    return sums


@dataclass
class Days:
    """Values by day: full state, uploaded bytes, and p95 of end-to-end durations."""

    state: dict[int, float] = field(default_factory=dict)
    uploaded: dict[int, float] = field(default_factory=dict)
    duration_ms: dict[int, float] = field(default_factory=dict)


def figures(
    days: Days, window: int, newest: int, timeout_ms: int | None = None, *, ended: bool = False
) -> dict[str, float | None]:
    """Values of the columns of ``JobGrowth``; None: unknown. An ended job has no slopes, only sums
    and the last size.
    """
    state = None if ended else slope(days.state, window, newest)
    duration = None if ended else slope(days.duration_ms, window, newest)
    uploaded = [value for day, value in days.uploaded.items() if newest - window < day <= newest]
    sizes = [size for day, size in sorted(days.state.items()) if newest - window < day <= newest]
    return {
        "known_days": len(sizes),
        "state_bytes": sizes[-1] if sizes else None,
        "state_bytes_per_day": state.per_day if state else None,
        "state_bytes_per_day_low": state.low if state else None,
        "state_bytes_per_day_high": state.high if state else None,
        "uploaded_bytes": sum(uploaded) if uploaded else None,
        "duration_ms_per_day": duration.per_day if duration else None,
        "days_to_timeout": duration.days_until(timeout_ms) if duration and timeout_ms else None,
    }
