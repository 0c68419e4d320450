"""The time-out advised from a job's history: the largest of 5 × the 99th percentile of checkpoints,
3 × that of savepoints, and one minute. Shortening needs a day of history, several savepoints, and
nothing that expired.
"""

from ingest.messages import message, plural
from spark_jobs.diagnosis.duration_history import Durations, rounded_up_ms
from spark_jobs.diagnosis.interval_advice import Advised, InForce
from spark_jobs.diagnosis.statistics import quantile

LEAST_MS = 60_000
"""A stall of a network or a pause of a garbage collector alone may take this long."""
TIMES_CHECKPOINT, TIMES_SAVEPOINT = 5, 3
SPAN_AT_LEAST_MS = 86_400_000
"""Load has its day: a quiet hour says nothing about the busy one."""
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
