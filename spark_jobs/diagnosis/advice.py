"""Advises interval, pause and time-out by how long a job's last checkpoints took."""

from collections.abc import Iterable
from dataclasses import dataclass

from ingest.messages import join_messages, message, plural
from spark_jobs.diagnosis.duration_history import Durations, durations_of, rounded_up_ms
from spark_jobs.diagnosis.samples import CheckpointSample
from spark_jobs.diagnosis.statistics import quantile

CHECKPOINTS_AT_LEAST = 100
"""With fewer values p99 is the maximum, which is random."""
SAVEPOINTS_AT_LEAST = 5
SPAN_AT_LEAST_MS = 86_400_000
"""Load varies over a day."""
LEAST_TIMEOUT_MS = 60_000
"""A stall of the network or a garbage collection may take so long."""
TIMES_CHECKPOINT, TIMES_SAVEPOINT = 5, 3
"""The advised time-out as multiples of p99."""


@dataclass(frozen=True)
class InForce:
    """The job's settings, and the fleet's minima (0: none)."""

    interval_ms: int | None = None
    min_pause_ms: int | None = None
    timeout_ms: int | None = None
    fleet_minimum_ms: int = 0
    fleet_pause_ms: int = 0


@dataclass(frozen=True)
class Advice:
    """``value_ms``: the current setting if no change is advised; None if Weir cannot advise."""

    value_ms: int | None
    why: str


@dataclass(frozen=True)
class SettingsAdvice:
    """``missing``: what the history lacks; the advice is then None."""

    interval: Advice | None = None
    min_pause: Advice | None = None
    timeout: Advice | None = None
    missing: tuple[str, ...] = ()


def settings_advice(checkpoints: Iterable[CheckpointSample], settings: InForce) -> SettingsAdvice:
    history = durations_of(checkpoints, settings.timeout_ms)
    if len(history.checkpoints) < CHECKPOINTS_AT_LEAST:
        too_few = message(
            "{checkpoints:count} of at least {at_least:number} completed checkpoints were seen",
            checkpoints=len(history.checkpoints),
            at_least=CHECKPOINTS_AT_LEAST,
        )
        missing = message(
            "Not enough history for an interval and a time-out: {seen:message}.", seen=too_few
        )
        return SettingsAdvice(missing=(missing,))
    interval = interval_advice(history, settings)
    return SettingsAdvice(
        interval, pause_advice(interval, settings), timeout_advice(history, settings)
    )


def interval_advice(history: Durations, settings: InForce) -> Advice:
    if settings.interval_ms is None:
        return Advice(
            None, message("the interval in force is not known, or periodic checkpoints are off")
        )
    least_ms = max(interval_for(history.p99_ms), settings.fleet_minimum_ms)
    p99 = _p99_text(history)
    if settings.interval_ms >= least_ms:
        why = message(
            "left as it is: checkpoints take less than half of the time; {p99:text}", p99=p99
        )
    elif least_ms == settings.fleet_minimum_ms:
        why = message("the minimum interval of the fleet; {p99:text}", p99=p99)
    else:
        why = message(
            "twice p99, so that checkpoints take at most half of the time; {p99:text}", p99=p99
        )
    return Advice(max(settings.interval_ms, least_ms), why)


def interval_for(p99_ms: float) -> int:
    return rounded_up_ms(2 * p99_ms)


def pause_advice(interval: Advice, settings: InForce) -> Advice:
    if interval.value_ms is None or settings.interval_ms is None:
        return Advice(None, message("goes with the interval"))
    pause_ms, why = settings.min_pause_ms, message("left as it is")
    if interval.value_ms > settings.interval_ms:
        pause_ms = max(interval.value_ms // 2, pause_ms or 0)
        why = message("half of the interval, so that a slow checkpoint is not followed at once")
    if pause_ms is not None and pause_ms < settings.fleet_pause_ms:
        return Advice(settings.fleet_pause_ms, message("the minimum pause of the fleet"))
    return Advice(pause_ms, why)


def timeout_advice(history: Durations, settings: InForce) -> Advice:
    savepoint_p99_ms = quantile(history.savepoints, 0.99) if history.savepoints else 0
    advised_ms = rounded_up_ms(
        max(TIMES_CHECKPOINT * history.p99_ms, TIMES_SAVEPOINT * savepoint_p99_ms, LEAST_TIMEOUT_MS)
    )
    basis = message(
        "by this history {fits_ms:duration}: 5 × p99 of checkpoints, 3 × that of savepoints, a "
        "minute at least",
        fits_ms=advised_ms,
    )
    if settings.timeout_ms is None:
        return Advice(
            None, message("the time-out in force is not known; {basis:message}", basis=basis)
        )
    if advised_ms == settings.timeout_ms:
        return Advice(advised_ms, message("left as it is; {basis:message}", basis=basis))
    if advised_ms < settings.timeout_ms and (doubt := _doubt(history)):
        return Advice(
            settings.timeout_ms,
            message("left as it is: {doubt:text}; {basis:message}", doubt=doubt, basis=basis),
        )
    return Advice(
        advised_ms,
        join_messages((basis, _would_fail(history, advised_ms)), "; "),
    )


def _p99_text(history: Durations) -> str:
    expired_text = (
        message(
            "; {expired_checkpoints:count} expired, counted with the time that they were given",
            expired_checkpoints=len(history.expired),
        )
        if history.expired
        else ""
    )
    return message(
        "p99 of checkpoints is {p99_ms:duration}{late:message}",
        p99_ms=history.p99_ms,
        late=expired_text,
    )


def _would_fail(history: Durations, timeout_ms: int) -> str:
    return message(
        "it would have failed {checkpoints:count} of {checkpoints2:message} and "
        "{savepoints:count} of {savepoints2:message} of this history",
        checkpoints=sum(duration_ms > timeout_ms for duration_ms in history.checkpoints),
        checkpoints2=plural(
            len(history.checkpoints),
            "{count:count} completed checkpoint",
            "{count:count} completed checkpoints",
        ),
        savepoints=sum(duration_ms > timeout_ms for duration_ms in history.savepoints),
        savepoints2=_savepoints_text(history),
    )


def _doubt(history: Durations) -> str:
    """Why the history allows no shorter time-out; empty if it does."""
    if expired := len(history.expired) + history.expired_savepoints:
        return message(
            "{expired:count} expired, and how long they would have taken is not known",
            expired=expired,
        )
    if history.span_ms < SPAN_AT_LEAST_MS:
        return message(
            "{span_ms:duration} of history, and a shorter one needs a day", span_ms=history.span_ms
        )
    if len(history.savepoints) < SAVEPOINTS_AT_LEAST:
        return message(
            "savepoints share it, and {seen:message} known of at least "
            "{savepoints_at_least:number} are too few for a shorter one",
            seen=_savepoints_text(history),
            savepoints_at_least=SAVEPOINTS_AT_LEAST,
        )
    return ""


def _savepoints_text(history: Durations) -> str:
    return plural(
        len(history.savepoints),
        "{count:count} completed savepoint",
        "{count:count} completed savepoints",
    )
