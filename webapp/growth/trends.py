"""A job's growth from its days: robust slopes with an interval, and when a limit is reached. The
slope is Theil and Sen's, the median over all pairs of days, as in a job's size trend: compactions
and single outliers hardly affect it. ``low`` and ``high`` are the 10th and 90th percentile of these
slopes. Days are UTC days, as ordinals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from spark_jobs.diagnosis.statistics import median, quantile

WINDOWS = (7, 30, 90)
LEAST_DAYS = 4
LEAST_SHARE = 0.5
"""The share of a window that days must span: a week says nothing about a quarter."""
MOST_POINTS = 20
FURTHEST_DAYS = 3_650
"""Later dates are not given, since they are too uncertain."""


@dataclass(frozen=True)
class Slope:
    """Change per day; ``level``: the line's value on the newest day."""

    level: float
    per_day: float
    low: float
    high: float

    def until(self, limit: float) -> "Until":
        def at(slope: float) -> float | None:
            if limit <= self.level:
                return 0.0
            days = (limit - self.level) / slope if slope > 0 else None
            return days if days is not None and days <= FURTHEST_DAYS else None

        return Until(at(self.per_day), at(self.high), at(self.low))


@dataclass(frozen=True)
class Until:
    """Days until a limit is reached, between ``soonest`` and ``latest``; None: not at this slope,
    or not within ten years.
    """

    days: float | None = None
    soonest: float | None = None
    latest: float | None = None


def slope(values: Mapping[int, float], window: int, newest: int) -> Slope | None:
    """The slope of ``values`` (by day) in the window that ends with ``newest``. None if they are
    too few or span too little.
    """
    days = [day for day in sorted(values) if newest - window < day <= newest]
    if len(days) < LEAST_DAYS or days[-1] - days[0] + 1 < LEAST_SHARE * window:
        return None
    kept = days[::-1][:: ceil(len(days) / MOST_POINTS)]
    slopes = [
        (values[later] - values[earlier]) / (later - earlier)
        for place, later in enumerate(kept)
        for earlier in kept[place + 1 :]
    ]
    per_day = median(slopes)
    level = median(values[day] + per_day * (kept[0] - day) for day in kept)
    return Slope(
        level, per_day, min(quantile(slopes, 0.1), per_day), max(quantile(slopes, 0.9), per_day)
    )


def last_known(values: Mapping[int, float], window: int, newest: int) -> float | None:
    return next((values[day] for day in range(newest, newest - window, -1) if day in values), None)


def filled(values: Mapping[int, float], last: int) -> dict[int, float]:
    """Fill days without a completed checkpoint with the value of the day before, up to ``last``."""
    values_by_day: dict[int, float] = {}
    if values:
        known = values[min(values)]
        for day in range(min(values), max(last, max(values)) + 1):
            known = values_by_day[day] = values.get(day, known)
    return values_by_day


def total(series: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Sums by day over the known values."""
    sums: dict[int, float] = {}
    for entry in series:
        for day, value in entry.items():
            sums[day] = sums.get(day, 0) + value
    return sums


@dataclass
class Days:
    """Values by UTC day (ordinals): full state, uploaded bytes, bytes of unreferenced files, and p95
    of end-to-end durations.
    """

    state: dict[int, float] = field(default_factory=dict)
    uploaded: dict[int, float] = field(default_factory=dict)
    unreferenced: dict[int, float] = field(default_factory=dict)
    duration_ms: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """None is unknown. ``known_days``: days of the window with a size. ``…_per_day``: slopes.
    ``days_to_timeout``: until the p95 reaches the time-out.
    """

    known_days: int = 0
    state_bytes: float | None = None
    state_bytes_per_day: float | None = None
    state_bytes_per_day_low: float | None = None
    state_bytes_per_day_high: float | None = None
    uploaded_bytes: float | None = None
    unreferenced_bytes: float | None = None
    duration_ms_per_day: float | None = None
    days_to_timeout: float | None = None
    days_to_timeout_soonest: float | None = None
    days_to_timeout_latest: float | None = None


def figures(
    days: Days, window: int, newest: int, timeout_ms: int | None = None, *, ended: bool = False
) -> Figures:
    """An ended job has no slopes, only sums and last sizes."""
    state = None if ended else slope(days.state, window, newest)
    duration = None if ended else slope(days.duration_ms, window, newest)
    until = duration.until(timeout_ms) if duration and timeout_ms else Until()
    uploaded = [value for day, value in days.uploaded.items() if newest - window < day <= newest]
    return Figures(
        known_days=sum(newest - window < day <= newest for day in days.state),
        state_bytes=last_known(days.state, window, newest),
        state_bytes_per_day=state.per_day if state else None,
        state_bytes_per_day_low=state.low if state else None,
        state_bytes_per_day_high=state.high if state else None,
        uploaded_bytes=sum(uploaded) if uploaded else None,
        unreferenced_bytes=last_known(days.unreferenced, window, newest),
        duration_ms_per_day=duration.per_day if duration else None,
        days_to_timeout=until.days,
        days_to_timeout_soonest=until.soonest,
        days_to_timeout_latest=until.latest,
    )
