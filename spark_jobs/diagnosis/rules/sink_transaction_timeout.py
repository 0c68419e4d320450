"""Sinks log their time-out; the threshold ``set_ms`` replaces it."""

from collections.abc import Iterator

from ingest.messages import message, plural
from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Limits, Severity, Threshold
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.transactions import (
    BROKER_MAX_MS,
    EVENTS_READ,
    Transactions,
    transactions_of,
)

RULE = "sink.transaction_timeout"
SET, RATIO = f"{RULE}.set_ms", f"{RULE}.open_ratio"
LOOK_BACK_MS = 3_600_000
"""What was slow once in an hour will be slow again."""


@rule(
    RULE,
    message("Transactions close to their time-out"),
    message(
        "Transactions of a two-phase-commit sink are open for nearly as long as their "
        "time-out, or would be with a restart in between."
    ),
    fed_by="incidents/1.20.5/short-transactions",
    hold_s=1800,
    reads=EVENTS_READ,
    thresholds=(
        Threshold(
            SET,
            0,
            "ms",
            0,
            604_800_000,
            message(
                "0: the time-out that the sink logs. Enter transaction.timeout.ms where no log has "
                "it."
            ),
        ),
        Threshold(
            RATIO,
            0.8,
            "ratio",
            0.1,
            1.0,
            message(
                "Share of the time-out: one checkpoint that is a little slower uses up the rest."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if not (window.events or limits[SET]):
        return  # no sink logs its transactions
    transactions = transactions_of(
        window.checkpoints,
        window.starts,
        window.events,
        window.at_ms,
        window.at_ms - LOOK_BACK_MS,
        int(limits[SET]),
    )
    severity: Severity = "critical"
    confidence: Confidence = "high"
    timeout_ms, open_ms = transactions.timeout_ms, transactions.open_ms
    if transactions.lost:
        title, cause = _describe_loss(transactions)
    elif window.terminal or timeout_ms is None or open_ms is None:
        return
    elif open_ms > timeout_ms:
        title, cause = _describe_open(transactions)
        confidence = "medium"
    elif open_ms >= limits[RATIO] * timeout_ms:
        title, cause = _describe_open(transactions)
        severity = "warning"
    elif (transactions.needed_ms or 0) > timeout_ms:
        title, cause = _describe_restart(transactions)
        severity, confidence = "warning", "medium"
    else:
        return
    yield job_finding(
        window,
        RULE,
        severity,
        confidence,
        title=title,
        cause=cause,
        next_step=_next_step(transactions),
        evidence=_evidence(limits, transactions),
        seen_at_ms=transactions.lost[-1].at_ms if transactions.lost else window.at_ms,
        data={
            "timeout_ms": timeout_ms,
            "open_ms": open_ms,
            "restart_ms": transactions.restart_ms,
            "advised_ms": transactions.advised_ms,
        },
    )


def _describe_loss(transactions: Transactions) -> tuple[str, str]:
    lost = plural(len(transactions.lost), "{count:count} transaction", "{count:count} transactions")
    timeout = (
        message(" of {timeout_ms:duration}", timeout_ms=transactions.timeout_ms)
        if transactions.timeout_ms
        else ""
    )
    return message("{lost:message} of a sink lost", lost=lost), message(
        "The sink logged that {lost:message} could not be committed, mostly since their store "
        "aborted them after the time-out{timeout:message}, and will not be tried again: the "
        "records in them, if any, are not in the target.{longest:text}",
        lost=lost,
        timeout=timeout,
        longest=_longest_text(transactions),
    )


def _describe_open(transactions: Transactions) -> tuple[str, str]:
    return (
        message(
            "Transactions are open for up to {open_ms:duration}, their time-out is "
            "{timeout_ms:duration}",
            open_ms=transactions.open_ms or 0,
            timeout_ms=transactions.timeout_ms or 0,
        ),
        message(
            "A transaction is open from one checkpoint to the end of the "
            "next.{longest:text} Once the time-out of {timeout_ms:duration} is over, "
            "the store aborts it, the commit fails, and what it holds is lost.",
            longest=_longest_text(transactions),
            timeout_ms=transactions.timeout_ms or 0,
        ),
    )


def _describe_restart(transactions: Transactions) -> tuple[str, str]:
    return (
        message(
            "A restart would take transactions over their time-out of {timeout_ms:duration}",
            timeout_ms=transactions.timeout_ms or 0,
        ),
        message(
            "A transaction that is prepared when the job fails is committed after the "
            "restart.{longest:text} The longest restart took {restart_ms:duration}: "
            "together {needed_ms:duration}, more than the time-out.",
            longest=_longest_text(transactions),
            restart_ms=transactions.restart_ms or 0,
            needed_ms=transactions.needed_ms or 0,
        ),
    )


def _longest_text(transactions: Transactions) -> str:
    longest = transactions.longest
    if longest is None or (transactions.pending_ms or 0) > longest.open_ms:
        return (
            message(
                " The oldest one now is open for {pending_ms:duration}.",
                pending_ms=transactions.pending_ms,
            )
            if transactions.pending_ms
            else ""
        )
    return message(
        " The one committed with checkpoint {checkpoint_id:number} had been open for up to "
        "{open_ms:duration}.",
        checkpoint_id=longest.checkpoint_id,
        open_ms=longest.open_ms,
    )


def _next_step(transactions: Transactions) -> str:
    advised = transactions.advised_ms
    new_timeout = (
        message("to {advised:duration} or more", advised=advised)
        if advised
        else message("well above the time from one checkpoint to the end of the next")
    )
    broker = (
        message(
            " (the broker's transaction.max.timeout.ms has to allow it; Kafka's default is 15 min)"
        )
        if (advised or 0) > BROKER_MAX_MS
        else ""
    )
    return message(
        "Raise the sink's transaction time-out, for Kafka transaction.timeout.ms, "
        "{longer:message}{broker:message}; or take checkpoints more often.",
        longer=new_timeout,
        broker=broker,
    )


def _evidence(limits: Limits, transactions: Transactions) -> Iterator[Evidence]:
    if transactions.lost:
        yield Evidence(
            message("transactions lost by the sink's log"), len(transactions.lost), "count"
        )
    if transactions.timeout_ms is not None:
        yield Evidence(
            message("time-out of transactions"),
            transactions.timeout_ms,
            "ms",
            note=message("as set for this job")
            if transactions.timeout_is_set
            else message("by the log, the shortest"),
        )
    if transactions.timeout_ms and transactions.open_ms is not None:
        yield limits.evidence(
            message("longest that one was open, of the time-out"),
            transactions.open_ms / transactions.timeout_ms,
            RATIO,
        )
        yield Evidence(message("longest that one was open"), transactions.open_ms, "ms")
