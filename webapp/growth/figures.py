"""The figures of one job over one window of days."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from webapp.growth.trends import WINDOWS, Slope, Until, last_known, per_whole_day, slope


@dataclass
class Days:
    """What is known by UTC day (ordinals): full state, bytes uploaded on it, bytes of files that
    nothing refers to, files as a whole, and the p95 of end-to-end durations.
    """

    state: dict[int, float] = field(default_factory=dict)
    uploaded: dict[int, float] = field(default_factory=dict)
    unreferenced: dict[int, float] = field(default_factory=dict)
    stored: dict[int, float] = field(default_factory=dict)
    duration_ms: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """None is unknown. ``known_days``: days of the window with a size. ``…_per_day`` of sizes are
    slopes, of ``uploaded`` the mean of whole days. ``state_bytes_ahead``: as many days from now as
    the window has. ``days_to_timeout``: until the p95 reaches the time-out.
    """

    known_days: int = 0
    state_bytes: float | None = None
    state_bytes_per_day: float | None = None
    state_bytes_per_day_low: float | None = None
    state_bytes_per_day_high: float | None = None
    state_bytes_ahead: float | None = None
    state_bytes_ahead_low: float | None = None
    state_bytes_ahead_high: float | None = None
    uploaded_bytes: float | None = None
    uploaded_bytes_per_day: float | None = None
    uploaded_bytes_per_day_before: float | None = None
    stored_bytes: float | None = None
    unreferenced_bytes: float | None = None
    unreferenced_bytes_per_day: float | None = None
    duration_ms: float | None = None
    duration_ms_per_day: float | None = None
    days_to_timeout: float | None = None
    days_to_timeout_soonest: float | None = None
    days_to_timeout_latest: float | None = None


def figures(
    days: Days, window: int, newest: int, timeout_ms: int | None = None, *, ended: bool = False
) -> Figures:
    """What has ended grows no more: it has sums and last sizes alone."""

    def trend(values: Mapping[int, float]) -> Slope | None:
        return None if ended else slope(values, window, newest)

    state = trend(days.state)
    unreferenced = trend(days.unreferenced)
    duration = trend(days.duration_ms)
    ahead, low, high = state.ahead(window) if state else (None, None, None)
    until = duration.until(timeout_ms) if duration and timeout_ms else Until()
    uploaded = [value for day, value in days.uploaded.items() if newest - window < day <= newest]
    return Figures(
        sum(newest - window < day <= newest for day in days.state),
        last_known(days.state, window, newest),
        state.per_day if state else None,
        state.low if state else None,
        state.high if state else None,
        ahead,
        low,
        high,
        sum(uploaded) if uploaded else None,
        per_whole_day(days.uploaded, window, newest),
        per_whole_day(days.uploaded, window, newest - window),
        last_known(days.stored, window, newest),
        last_known(days.unreferenced, window, newest),
        unreferenced.per_day if unreferenced else None,
        last_known(days.duration_ms, window, newest),
        duration.per_day if duration else None,
        until.days,
        until.soonest,
        until.latest,
    )


HISTORY_DAYS = 2 * max(WINDOWS)
"""Uploads are compared with those of the window before."""
