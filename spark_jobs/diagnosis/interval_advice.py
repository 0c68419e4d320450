"""Interval, pause and time-outs advised from a job's own history.

The formulas, with ``p99`` the 99th percentile of the end-to-end duration of completed checkpoints (savepoints left out) in the worst
UTC hour of the day that has enough of them, or over all hours where none has:

* interval = 2 × p99, so that even then checkpoints take at most half of the time;
* minimum pause = interval ÷ 2, so that a slow checkpoint is never followed at once by the next;
* checkpoint time-out = the larger of 5 × p99 and one minute: wide enough for chance, narrow enough to reveal trouble soon;
* savepoint time-out = 2 × the slowest savepoint.

All are rounded up to a figure that people would write. Flink has one time-out for both; where the two differ, the larger must be set.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.diagnosis.statistics import quantile

HOUR_MS = 3_600_000
CHECKPOINTS_AT_LEAST = 100
"""Of fewer values the 99th percentile is the largest: chance."""

_STEPS_S = (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1_200, 1_800, 2_700, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)


@dataclass(frozen=True, slots=True)
class Took:
    """One completed checkpoint or savepoint."""

    trigger_time_ms: int
    end_to_end_ms: int
    is_savepoint: bool = False


@dataclass(frozen=True, slots=True)
class HourOfDay:
    """``hour`` is UTC; ``p99_ms`` None where too few were seen in it."""

    hour: int
    checkpoints: int
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class IntervalAdvice:
    """Figures are None where history does not reach for them; ``missing`` then says why, in words for people."""

    checkpoints: int
    savepoints: int
    hours: tuple[HourOfDay, ...]
    p99_ms: float | None = None
    worst_hour: int | None = None
    interval_ms: int | None = None
    min_pause_ms: int | None = None
    timeout_ms: int | None = None
    savepoint_timeout_ms: int | None = None
    missing: tuple[str, ...] = ()


def advise(history: Iterable[Took], at_least: int = CHECKPOINTS_AT_LEAST) -> IntervalAdvice:
    """Advice from completed checkpoints in any order; ``at_least`` so many are needed, in an hour of the day or in all."""
    known = list(history)
    durations = [took for took in known if not took.is_savepoint]
    savepoints = [took.end_to_end_ms for took in known if took.is_savepoint]
    hours = tuple(_hour(hour, durations, at_least) for hour in range(24))
    missing = []
    savepoint_timeout_ms = rounded_up_ms(2 * max(savepoints)) if savepoints else None
    if not savepoints:
        missing.append("Not enough history for a savepoint time-out: no completed savepoint was seen.")
    if len(durations) < at_least:
        missing.insert(0, f"Not enough history for an interval: {len(durations)} of at least {at_least} completed checkpoints were seen.")
        return IntervalAdvice(len(durations), len(savepoints), hours, savepoint_timeout_ms=savepoint_timeout_ms, missing=tuple(missing))
    judged = [hour for hour in hours if hour.p99_ms is not None]
    worst = max(judged, key=lambda hour: (hour.p99_ms or 0.0, -hour.hour), default=None)
    p99_ms = worst.p99_ms if worst and worst.p99_ms is not None else quantile((took.end_to_end_ms for took in durations), 0.99)
    interval_ms = interval_for(p99_ms)
    return IntervalAdvice(
        len(durations),
        len(savepoints),
        hours,
        p99_ms,
        worst.hour if worst else None,
        interval_ms,
        interval_ms // 2,
        timeout_for(p99_ms),
        savepoint_timeout_ms,
        tuple(missing),
    )


def interval_for(p99_ms: float) -> int:
    return rounded_up_ms(2 * p99_ms)


def timeout_for(p99_ms: float) -> int:
    return rounded_up_ms(max(5 * p99_ms, 60_000))


def rounded_up_ms(duration_ms: float) -> int:
    """The next figure that people would write: 1, 2, 3, 5, 10, … s, min, h; whole days beyond."""
    for step_s in _STEPS_S:
        if duration_ms <= step_s * 1000:
            return step_s * 1000
    day_ms = 24 * HOUR_MS
    return int(-(-duration_ms // day_ms) * day_ms)


def _hour(hour: int, durations: Iterable[Took], at_least: int) -> HourOfDay:
    took = [one.end_to_end_ms for one in durations if one.trigger_time_ms // HOUR_MS % 24 == hour]
    return HourOfDay(hour, len(took), quantile(took, 0.99) if len(took) >= at_least else None)
