"""Transactions of two-phase-commit sinks that are open for longer than their store waits: what they hold is lost.

The time-out is what sinks log (Flink's warning, Kafka's producer configuration), or what an operator sets for the job.
"""

from collections.abc import Iterator

from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Severity
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.transactions import BROKER_MAX_MS, TOLD, Transactions, transactions_of
from spark_jobs.diagnosis.wording import count_text, ms_text

RULE = "sink.transaction_timeout"
SET, RATIO, WINDOW = f"{RULE}.set_ms", f"{RULE}.open_ratio", f"{RULE}.window_s"
DAY_MS = 86_400_000


@rule(
    RULE,
    "Transactions close to their time-out",
    "A two-phase-commit sink keeps transactions open for about as long as its store waits, or would, with a restart in between.",
    hold_s=1800,
    reads=TOLD,
    thresholds=(
        Threshold(SET, 0, "ms", 0, DAY_MS * 7, "0: the time-out that the sink logs. Enter transaction.timeout.ms where no log has it."),
        Threshold(RATIO, 0.8, "ratio", 0.1, 1.0, "Of the time-out: one checkpoint that is a little slower takes the rest."),
        Threshold(WINDOW, 3600, "s", 60, 86_400, "An hour of commits: what was slow once in it will be again."),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal or not (window.events or limits[SET]):  # no sink tells of transactions: nothing to be counted
        return
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    found = transactions_of(window.checkpoints, window.starts, window.events, window.at_ms, since_ms, int(limits[SET]))
    if found.lost:
        yield _finding(window, limits, found, "critical", "high", _lost(found))
    elif found.timeout_ms is None or found.open_ms is None:
        return
    elif found.open_ms >= limits[RATIO] * found.timeout_ms:
        is_over = found.open_ms > found.timeout_ms
        yield _finding(window, limits, found, "critical" if is_over else "warning", "medium" if is_over else "high", _open(found))
    elif (found.needed_ms or 0) > found.timeout_ms:
        yield _finding(window, limits, found, "warning", "medium", _with_restart(found))


def _lost(found: Transactions) -> tuple[str, str]:
    timeout = f" of {ms_text(found.timeout_ms)}" if found.timeout_ms else ""
    return (
        f"{count_text(len(found.lost), 'transaction')} of a sink lost",
        f"The sink logged that {count_text(len(found.lost), 'transaction')} could not be committed after their time-out{timeout} and will "
        f"not be tried again: the records in them are not in the target.{_longest(found)}",
    )


def _open(found: Transactions) -> tuple[str, str]:
    return (
        f"Transactions are open for up to {ms_text(found.open_ms or 0)}, their time-out is {ms_text(found.timeout_ms or 0)}",
        f"A transaction is open from one checkpoint to the end of the next.{_longest(found)} Once the time-out of "
        f"{ms_text(found.timeout_ms or 0)} is over, the store aborts it, the commit fails, and what it holds is lost.",
    )


def _with_restart(found: Transactions) -> tuple[str, str]:
    return (
        f"A restart would take transactions over their time-out of {ms_text(found.timeout_ms or 0)}",
        f"A transaction that is prepared when the job fails is committed after the restart.{_longest(found)} The longest restart took "
        f"{ms_text(found.restart_ms or 0)}: together {ms_text(found.needed_ms or 0)}, more than the time-out.",
    )


def _longest(found: Transactions) -> str:
    longest = found.longest
    if longest is None or (found.pending_ms or 0) > longest.open_ms:
        return f" The oldest one now is open for {ms_text(found.pending_ms)}." if found.pending_ms else ""
    return f" The one committed with checkpoint {longest.checkpoint_id} had been open for up to {ms_text(longest.open_ms)}."


def _finding(
    window: JobWindow, limits: Limits, found: Transactions, severity: Severity, confidence: Confidence, words: tuple[str, str]
) -> Finding:
    title, cause = words
    return job_finding(
        window,
        RULE,
        severity,
        confidence,
        title=title,
        cause=cause,
        next_step=_next_step(found),
        evidence=list(_evidence(limits, found)),
        seen_at_ms=found.lost[-1].at_ms if found.lost else window.at_ms,
        data={"timeout_ms": found.timeout_ms, "open_ms": found.open_ms, "restart_ms": found.restart_ms, "advised_ms": found.advised_ms},
    )


def _next_step(found: Transactions) -> str:
    advised = found.advised_ms
    longer = f"to {ms_text(advised)} or more" if advised else "well above the time from one checkpoint to the end of the next"
    broker = (
        " (the broker's transaction.max.timeout.ms has to allow it; Kafka's default is 15 min)" if (advised or 0) > BROKER_MAX_MS else ""
    )
    return f"Raise the sink's transaction time-out, for Kafka transaction.timeout.ms, {longer}{broker}; or take checkpoints more often."


def _evidence(limits: Limits, found: Transactions) -> Iterator[Evidence]:
    if found.lost:
        yield Evidence("transactions lost by the sink's log", len(found.lost), "count", at_ms=found.lost[-1].at_ms)
    if found.timeout_ms is not None:
        note = "as set for this job" if found.timeout_is_set else "by the log, the shortest"
        yield Evidence("time-out of transactions", found.timeout_ms, "ms", note=note)
    if found.timeout_ms and found.open_ms is not None:
        yield limits.compared("longest that one was open, of the time-out", found.open_ms / found.timeout_ms, "ratio", ">=", RATIO)
        yield Evidence("longest that one was open", found.open_ms, "ms")
    if found.restart_ms is not None:
        yield Evidence("longest restart", found.restart_ms, "ms")
