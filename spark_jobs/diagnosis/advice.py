"""From a job's last checkpoints to the advised interval and time-out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ingest.messages import message, plural
from spark_jobs.diagnosis.duration_history import (
    CHECKPOINTS_AT_LEAST,
    Durations,
    Took,
    durations_of,
    rounded_up_ms,
)
from spark_jobs.diagnosis.samples import CheckpointSample
from spark_jobs.diagnosis.statistics import quantile


@dataclass(frozen=True, slots=True)
class InForce:
    """The job's settings, and what the fleet requires; 0 if it requires nothing."""

    interval_ms: int | None = None
    min_pause_ms: int | None = None
    timeout_ms: int | None = None
    fleet_minimum_ms: int = 0
    fleet_pause_ms: int = 0


@dataclass(frozen=True, slots=True)
class Advised:
    """``value_ms`` is the current setting if no change is advised, None without advice; ``why`` is
    for people.
    """

    value_ms: int | None
    why: str


def interval_advice(took: Durations, now: InForce) -> Advised:
    """Advice on ``execution.checkpointing.interval``: lengthened to twice the 99th percentile of the
    duration, or the fleet's minimum; never shortened.

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
    return Advised(
        now.interval_ms,
        message("left as it is: checkpoints take less than half of the time; {p99:text}", p99=p99),
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


LEAST_MS = 60_000
"""A stall of a network or a pause of a garbage collector alone may take this long."""
TIMES_CHECKPOINT, TIMES_SAVEPOINT = 5, 3
SPAN_AT_LEAST_MS = 86_400_000
"""Load varies over a day: a quiet hour says nothing about a busy one."""
SAVEPOINTS_AT_LEAST = 5


def timeout_advice(took: Durations, now: InForce) -> Advised:
    """Advice on ``execution.checkpointing.timeout``.

    Raises ValueError for a history without a percentile.
    """
    if took.p99_at_least_ms is None:
        raise ValueError("no time-out follows from a history without a percentile")
    slowest_ms = quantile(took.savepoints, 0.99) if took.savepoints else 0
    fits_ms = timeout_for(took.p99_at_least_ms, slowest_ms)
    basis = message(
        "by this history {fits_ms:duration}: 5 × p99 of checkpoints, 3 × that of savepoints, a "
        "minute at least",
        fits_ms=fits_ms,
    )
    if now.timeout_ms is None:
        return Advised(
            None, message("the time-out in force is not known; {basis:message}", basis=basis)
        )
    if fits_ms == now.timeout_ms:
        return Advised(fits_ms, message("left as it is; {basis:message}", basis=basis))
    if fits_ms > now.timeout_ms:
        return Advised(
            fits_ms,
            message(
                "{basis:message}; {would_fail:text}",
                basis=basis,
                would_fail=would_fail(took, fits_ms),
            ),
        )
    if doubt := _doubt(took):
        return Advised(
            now.timeout_ms,
            message("left as it is: {doubt:text}; {basis:message}", doubt=doubt, basis=basis),
        )
    return Advised(
        fits_ms,
        message(
            "{basis:message}; {would_fail:text}", basis=basis, would_fail=would_fail(took, fits_ms)
        ),
    )


def timeout_for(checkpoint_p99_ms: float, savepoint_p99_ms: float = 0) -> int:
    return rounded_up_ms(
        max(TIMES_CHECKPOINT * checkpoint_p99_ms, TIMES_SAVEPOINT * savepoint_p99_ms, LEAST_MS)
    )


def would_fail(took: Durations, timeout_ms: int) -> str:
    checkpoints, savepoints = took.longer_than(timeout_ms)
    return message(
        "it would have failed {checkpoints:count} of {checkpoints2:message} and "
        "{savepoints:count} of {savepoints2:message} of this history",
        checkpoints=checkpoints,
        checkpoints2=plural(
            len(took.checkpoints),
            "{count:count} completed checkpoint",
            "{count:count} completed checkpoints",
        ),
        savepoints=savepoints,
        savepoints2=plural(
            len(took.savepoints),
            "{count:count} completed savepoint",
            "{count:count} completed savepoints",
        ),
    )


def _doubt(took: Durations) -> str:
    if expired := took.expired_checkpoints + took.expired_savepoints:
        return message(
            "{expired:count} expired, and how long they would have taken is not known",
            expired=expired,
        )
    if took.span_ms < SPAN_AT_LEAST_MS:
        return message(
            "{span_ms:duration} of history, and a shorter one needs a day", span_ms=took.span_ms
        )
    if len(took.savepoints) < SAVEPOINTS_AT_LEAST:
        seen = plural(
            len(took.savepoints),
            "{count:count} completed savepoint",
            "{count:count} completed savepoints",
        )
        return message(
            "savepoints share it, and {seen:message} known of at least "
            "{savepoints_at_least:number} are too few for a shorter one",
            seen=seen,
            savepoints_at_least=SAVEPOINTS_AT_LEAST,
        )
    return ""


@dataclass(frozen=True, slots=True)
class SettingsAdvice:
    """``missing`` tells people what the history lacks; the advice is then None."""

    took: Durations
    interval: Advised | None = None
    min_pause: Advised | None = None
    timeout: Advised | None = None
    missing: tuple[str, ...] = ()


def settings_advice(
    checkpoints: Iterable[CheckpointSample],
    now: InForce | None = None,
    at_least: int = CHECKPOINTS_AT_LEAST,
) -> SettingsAdvice:
    now = now or InForce()
    took = durations_of(_took(checkpoints, now.timeout_ms), at_least)
    if took.p99_ms is None:
        seen = message(
            "{checkpoints:count} of at least {at_least:number} completed checkpoints were seen",
            checkpoints=len(took.checkpoints),
            at_least=at_least,
        )
        return SettingsAdvice(
            took,
            missing=(
                message(
                    "Not enough history for an interval and a time-out: {seen:message}.", seen=seen
                ),
            ),
        )
    interval = interval_advice(took, now)
    return SettingsAdvice(took, interval, pause_advice(interval, now), timeout_advice(took, now))


def _took(checkpoints: Iterable[CheckpointSample], timeout_ms: int | None) -> Iterator[Took]:
    for checkpoint in checkpoints:
        lasted_ms = (
            checkpoint.end_to_end_ms
            if checkpoint.outcome == "completed" or checkpoint.end_to_end_ms is not None
            else timeout_ms
        )
        if checkpoint.outcome in ("completed", "expired") and lasted_ms is not None:
            yield Took(
                checkpoint.trigger_time_ms,
                lasted_ms,
                bool(checkpoint.is_savepoint),
                checkpoint.outcome == "expired",
            )
