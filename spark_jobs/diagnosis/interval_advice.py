"""Interval and pause advised from a job's own history. The interval is lengthened to twice the 99th
percentile of the duration, or the fleet's minimum; shortened only for a recovery-time target. The
minimum pause: half of a lengthened interval, at most half of a shortened one.
"""

from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.duration_history import Durations, rounded_down_ms, rounded_up_ms


@dataclass(frozen=True, slots=True)
class InForce:
    """What is set for the job, and what is asked of it.

    ``fleet_minimum_ms`` (of the interval) and ``fleet_pause_ms`` 0, ``recovery_target_ms`` None:
    nobody asked.
    """

    interval_ms: int | None = None
    min_pause_ms: int | None = None
    timeout_ms: int | None = None
    fleet_minimum_ms: int = 0
    fleet_pause_ms: int = 0
    recovery_target_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Advised:
    """``value_ms`` is what is set now where nothing speaks for a change, None where nothing can be
    said; ``why`` in words for people.
    """

    value_ms: int | None
    why: str


def interval_advice(took: Durations, now: InForce) -> Advised:
    """Advice on ``execution.checkpointing.interval``.

    Raises ValueError for a history without a percentile.
    """
    if took.p99_ms is None or took.p99_at_least_ms is None:
        raise ValueError("no interval follows from a history without a percentile")
    if now.interval_ms is None:
        return Advised(
            None, message("the interval in force is not known, or periodic checkpoints are off")
        )
    least_ms = max(interval_for(took.p99_at_least_ms), now.fleet_minimum_ms)
    p99 = p99_text(took)
    if now.interval_ms < least_ms:
        if least_ms == now.fleet_minimum_ms:
            return Advised(
                least_ms, message("the minimum interval of the fleet; {p99:text}", p99=p99)
            )
        return Advised(
            least_ms,
            message(
                "twice p99, so that checkpoints take at most half of the time; {p99:text}", p99=p99
            ),
        )
    target_ms = now.recovery_target_ms
    if target_ms is None or now.interval_ms + took.p99_ms <= target_ms:
        return Advised(
            now.interval_ms,
            message(
                "left as it is: checkpoints take less than half of the time; {p99:text}", p99=p99
            ),
        )
    within_ms = rounded_down_ms(target_ms - took.p99_ms)
    if within_ms < least_ms:
        return Advised(
            least_ms,
            message(
                "the target of {target_ms:duration} cannot be met: an interval below "
                "{least_ms:duration} is too short; {p99:text}",
                target_ms=target_ms,
                least_ms=least_ms,
                p99=p99,
            ),
        )
    return Advised(
        within_ms,
        message(
            "for the target of {target_ms:duration}: a failure replays at most an interval and a "
            "checkpoint; {p99:text}",
            target_ms=target_ms,
            p99=p99,
        ),
    )


def pause_advice(interval: Advised, now: InForce) -> Advised:
    if interval.value_ms is None or now.interval_ms is None:
        return Advised(None, message("goes with the interval"))
    fitting = _fitting_pause(interval.value_ms, now.interval_ms, now)
    if fitting.value_ms is None or fitting.value_ms >= now.fleet_pause_ms:
        return fitting
    return Advised(now.fleet_pause_ms, message("the minimum pause of the fleet"))


def _fitting_pause(advised_ms: int, interval_ms: int, now: InForce) -> Advised:
    half_ms = advised_ms // 2
    if advised_ms > interval_ms:
        return Advised(
            max(half_ms, now.min_pause_ms or 0),
            message("half of the interval, so that a slow checkpoint is not followed at once"),
        )
    if advised_ms < interval_ms and now.min_pause_ms is not None and now.min_pause_ms > half_ms:
        return Advised(half_ms, message("half of the interval: a longer pause would undo it"))
    return Advised(now.min_pause_ms, message("left as it is"))


def interval_for(p99_ms: float) -> int:
    return rounded_up_ms(2 * p99_ms)


def p99_text(took: Durations) -> str:
    hour = (
        ""
        if took.worst_hour is None
        else message(
            " in the hour from {worst_hour:name}:00 UTC, the slowest of the day",
            worst_hour=f"{took.worst_hour:02d}",
        )
    )
    late = (
        message(
            "; {expired_checkpoints:count} expired, counted with the time that they were given",
            expired_checkpoints=took.expired_checkpoints,
        )
        if took.expired_checkpoints
        else ""
    )
    return message(
        "p99 of completed checkpoints is {p99_ms:duration}{hour:message}{late:message}",
        p99_ms=took.p99_ms or 0,
        hour=hour,
        late=late,
    )
