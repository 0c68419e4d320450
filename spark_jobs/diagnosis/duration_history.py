"""How long a job's checkpoints and savepoints took: the basis of advice on intervals and time-outs."""

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.diagnosis.statistics import quantile

HOUR_MS = 3_600_000
CHECKPOINTS_AT_LEAST = 100
"""With fewer values the 99th percentile is the maximum, which is random."""

_STEPS_S = (
    1,
    2,
    3,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    180,
    300,
    600,
    900,
    1_200,
    1_800,
    2_700,
    3_600,
    7_200,
    10_800,
    21_600,
    43_200,
    86_400,
)


@dataclass(frozen=True, slots=True)
class Took:
    """One checkpoint or savepoint, completed or ``expired``. An expired one would have taken longer
    than its ``end_to_end_ms``.
    """

    trigger_time_ms: int
    end_to_end_ms: int
    is_savepoint: bool = False
    expired: bool = False


@dataclass(frozen=True, slots=True)
class HourOfDay:
    """``hour`` is UTC; ``p99_ms`` None if too few were seen in it."""

    hour: int
    checkpoints: int
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class Durations:
    """``p99_ms``: of completed checkpoints in the worst hour of the day, or of all if that is more.
    ``p99_at_least_ms`` includes expired checkpoints with their time-out. None if too few completed.
    """

    checkpoints: tuple[int, ...]
    savepoints: tuple[int, ...]
    expired_checkpoints: int
    expired_savepoints: int
    span_ms: int
    hours: tuple[HourOfDay, ...]
    p99_ms: float | None
    p99_at_least_ms: float | None
    worst_hour: int | None

    def longer_than(self, duration_ms: int) -> tuple[int, int]:
        return sum(took_ms > duration_ms for took_ms in self.checkpoints), sum(
            took_ms > duration_ms for took_ms in self.savepoints
        )


def durations_of(history: Iterable[Took], at_least: int = CHECKPOINTS_AT_LEAST) -> Durations:
    """``history`` is in any order. A percentile, of an hour of the day or of all, needs
    ``at_least`` completed checkpoints.
    """
    known = list(history)
    own = [took for took in known if not took.is_savepoint]
    done = [took for took in own if not took.expired]
    hours = tuple(_hour(hour, done, at_least) for hour in range(24))
    p99_ms, worst_hour = _worst(done, hours) if len(done) >= at_least else (None, None)
    at_least_ms = None
    if p99_ms is not None:
        with_expired = tuple(_hour(hour, own, at_least) for hour in range(24))
        at_least_ms = max(p99_ms, _worst(own, with_expired)[0])
    instants = [took.trigger_time_ms for took in done]
    return Durations(
        checkpoints=tuple(took.end_to_end_ms for took in done),
        savepoints=tuple(
            took.end_to_end_ms for took in known if took.is_savepoint and not took.expired
        ),
        expired_checkpoints=len(own) - len(done),
        expired_savepoints=sum(took.expired and took.is_savepoint for took in known),
        span_ms=max(instants) - min(instants) if instants else 0,
        hours=hours,
        p99_ms=p99_ms,
        p99_at_least_ms=at_least_ms,
        worst_hour=worst_hour,
    )


def rounded_up_ms(duration_ms: float) -> int:
    """The next figure that people would write: 1, 2, 3, 5, 10, … s, min, h; whole days beyond."""
    for step_s in _STEPS_S:
        if duration_ms <= step_s * 1000:
            return step_s * 1000
    day_ms = 24 * HOUR_MS
    return int(-(-duration_ms // day_ms) * day_ms)


def _worst(took: Iterable[Took], hours: Iterable[HourOfDay]) -> tuple[float, int | None]:
    overall_ms = quantile((sample.end_to_end_ms for sample in took), 0.99)
    p99_ms, hour = max(
        ((hour.p99_ms, -hour.hour) for hour in hours if hour.p99_ms is not None), default=(0.0, 0)
    )
    return (p99_ms, -hour) if p99_ms >= overall_ms and p99_ms else (overall_ms, None)


def _hour(hour: int, checkpoints: Iterable[Took], at_least: int) -> HourOfDay:
    took = [
        checkpoint.end_to_end_ms
        for checkpoint in checkpoints
        if checkpoint.trigger_time_ms // HOUR_MS % 24 == hour
    ]
    return HourOfDay(hour, len(took), quantile(took, 0.99) if len(took) >= at_least else None)
