"""From a job's last checkpoints to the advised interval, pause and time-out."""

from collections.abc import Iterable
from dataclasses import dataclass

from ingest.messages import message, plural
from spark_jobs.diagnosis.duration_history import (
    Durations,
    durations_of,
    rounded_up_ms,
)
from spark_jobs.diagnosis.samples import CheckpointSample
from spark_jobs.diagnosis.statistics import quantile

CHECKPOINTS_AT_LEAST = 100
"""With fewer values the 99th percentile is the maximum, which is random."""
SAVEPOINTS_AT_LEAST = 5
SPAN_AT_LEAST_MS = 86_400_000
"""Load varies over a day: a quiet hour says nothing about a busy one."""
LEAST_MS = 60_000
"""A stall of a network or a pause of a garbage collector alone may take this long."""
TIMES_CHECKPOINT, TIMES_SAVEPOINT = 5, 3


@dataclass(frozen=True)
class InForce:
    """The job's settings, and what the fleet requires; 0 if it requires nothing."""

    interval_ms: int | None = None
    min_pause_ms: int | None = None
    timeout_ms: int | None = None
    fleet_minimum_ms: int = 0
    fleet_pause_ms: int = 0


@dataclass(frozen=True)
class Advised:
    """``value_ms`` is the current setting if no change is advised, None without advice."""

    value_ms: int | None
    why: str


@dataclass(frozen=True)
class SettingsAdvice:
    """``missing``: what the history lacks; the advice is then None."""

    interval: Advised | None = None
    min_pause: Advised | None = None
    timeout: Advised | None = None
    missing: tuple[str, ...] = ()


def settings_advice(checkpoints: Iterable[CheckpointSample], now: InForce) -> SettingsAdvice:
    took = durations_of(checkpoints, now.timeout_ms)
    if len(took.checkpoints) < CHECKPOINTS_AT_LEAST:
        seen = message(
            "{checkpoints:count} of at least {at_least:number} completed checkpoints were seen",
            checkpoints=len(took.checkpoints),
            at_least=CHECKPOINTS_AT_LEAST,
        )
        missing = message(
            "Not enough history for an interval and a time-out: {seen:message}.", seen=seen
        )
        return SettingsAdvice(missing=(missing,))
    interval = interval_advice(took, now)
    return SettingsAdvice(interval, pause_advice(interval, now), timeout_advice(took, now))


def interval_advice(took: Durations, now: InForce) -> Advised:
    """Advice on ``execution.checkpointing.interval``: lengthened to twice p99, or the fleet's
    minimum; never shortened.
    """
    if now.interval_ms is None:
        return Advised(
            None, message("the interval in force is not known, or periodic checkpoints are off")
        )
    least_ms = max(interval_for(took.p99_ms), now.fleet_minimum_ms)
    p99 = _p99_text(took)
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


def interval_for(p99_ms: float) -> int:
    return rounded_up_ms(2 * p99_ms)


def pause_advice(interval: Advised, now: InForce) -> Advised:
    if interval.value_ms is None or now.interval_ms is None:
        return Advised(None, message("goes with the interval"))
    pause_ms, why = now.min_pause_ms, message("left as it is")
    if interval.value_ms > now.interval_ms:
        pause_ms = max(interval.value_ms // 2, pause_ms or 0)
        why = message("half of the interval, so that a slow checkpoint is not followed at once")
    if pause_ms is not None and pause_ms < now.fleet_pause_ms:
        return Advised(now.fleet_pause_ms, message("the minimum pause of the fleet"))
    return Advised(pause_ms, why)


def timeout_advice(took: Durations, now: InForce) -> Advised:
    savepoint_ms = quantile(took.savepoints, 0.99) if took.savepoints else 0
    fits_ms = rounded_up_ms(
        max(TIMES_CHECKPOINT * took.p99_ms, TIMES_SAVEPOINT * savepoint_ms, LEAST_MS)
    )
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
    if fits_ms < now.timeout_ms and (doubt := _doubt(took)):
        return Advised(
            now.timeout_ms,
            message("left as it is: {doubt:text}; {basis:message}", doubt=doubt, basis=basis),
        )
    return Advised(
        fits_ms,
        message(
            "{basis:message}; {would_fail:text}", basis=basis, would_fail=_would_fail(took, fits_ms)
        ),
    )


def _p99_text(took: Durations) -> str:
    late = (
        message(
            "; {expired_checkpoints:count} expired, counted with the time that they were given",
            expired_checkpoints=len(took.expired),
        )
        if took.expired
        else ""
    )
    return message(
        "p99 of checkpoints is {p99_ms:duration}{late:message}", p99_ms=took.p99_ms, late=late
    )


def _would_fail(took: Durations, timeout_ms: int) -> str:
    return message(
        "it would have failed {checkpoints:count} of {checkpoints2:message} and "
        "{savepoints:count} of {savepoints2:message} of this history",
        checkpoints=sum(took_ms > timeout_ms for took_ms in took.checkpoints),
        checkpoints2=plural(
            len(took.checkpoints),
            "{count:count} completed checkpoint",
            "{count:count} completed checkpoints",
        ),
        savepoints=sum(took_ms > timeout_ms for took_ms in took.savepoints),
        savepoints2=_savepoints_text(took),
    )


def _doubt(took: Durations) -> str:
    if expired := len(took.expired) + took.expired_savepoints:
        return message(
            "{expired:count} expired, and how long they would have taken is not known",
            expired=expired,
        )
    if took.span_ms < SPAN_AT_LEAST_MS:
        return message(
            "{span_ms:duration} of history, and a shorter one needs a day", span_ms=took.span_ms
        )
    if len(took.savepoints) < SAVEPOINTS_AT_LEAST:
        return message(
            "savepoints share it, and {seen:message} known of at least "
            "{savepoints_at_least:number} are too few for a shorter one",
            seen=_savepoints_text(took),
            savepoints_at_least=SAVEPOINTS_AT_LEAST,
        )
    return ""


def _savepoints_text(took: Durations) -> str:
    return plural(
        len(took.savepoints),
        "{count:count} completed savepoint",
        "{count:count} completed savepoints",
    )
