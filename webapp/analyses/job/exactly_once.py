"""Two-phase-commit sinks of a job: how long transactions are open, and their time-out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingest.messages import brief, list_text, message
from spark_jobs.diagnosis.rules.sink_transaction_timeout import RATIO, SET
from spark_jobs.diagnosis.samples import CheckpointSample, JobStart, LogEvent
from spark_jobs.diagnosis.transactions import (
    BROKER_MAX_MS,
    EVENTS_READ,
    LOST,
    Transactions,
    transactions_of,
)
from webapp.analyses.declaration import analysis
from webapp.analyses.document import Advice, Document, Fact, Facts, Inputs, Note, Verdict
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.overrides import limits_of
from webapp.fleet import models
from webapp.fleet.models import JobStart as StoredStart
from webapp.lib.instants import epoch_ms
from webapp.lib.quantities import count_text, duration_text
from webapp.lib.samples import samples_of

MOST_COMMITS, MOST_STARTS, MOST_LINES = 500, 50, 500
LOOK_BACK = timedelta(hours=1)
_COMMIT_COLUMNS = ("checkpoint_id", "trigger_time", "outcome", "end_time")
COMMITTER = "committer"
"""Part of the names of vertices that commit for sinks (Sink V2, 1.15 and later)."""


@dataclass(frozen=True)
class JobTransactions:
    """``committers``: names of vertices. ``open_ratio``: threshold of the rule, open ÷ time-out."""

    committers: Sequence[str]
    open_ratio: float
    sink_transactions: Transactions


def job_transactions(
    job: models.JobCurrent, at: datetime, since: datetime | None = None
) -> JobTransactions:
    """Transactions from ``since`` on, by default of the last hour, by five queries."""
    limits = limits_of(job.cluster, job.job_id, job.name)
    completed = CheckpointFact.objects.filter(
        **job.identity, outcome="completed", is_savepoint=False, trigger_time__lte=at
    ).order_by("-trigger_time")
    starts = StoredStart.objects.filter(**job.identity, at__lte=at).order_by("-at")
    log_events = models.LogEvent.objects.filter(
        **job.identity, kind__in=EVENTS_READ, ts__lte=at
    ).order_by("-ts")
    transactions = transactions_of(
        list(samples_of(CheckpointSample, completed[:MOST_COMMITS], *_COMMIT_COLUMNS))[::-1],
        list(samples_of(JobStart, starts[:MOST_STARTS]))[::-1],
        [
            LogEvent(epoch_ms(ts), kind, fields=fields or {})
            for ts, kind, fields in reversed(_lines(log_events))
        ],
        epoch_ms(at),
        epoch_ms(since or at - LOOK_BACK),
        int(limits[SET]),
    )
    committers = [name for name in job.vertex_names.values() if COMMITTER in name.lower()]
    return JobTransactions(committers, limits[RATIO], transactions)


def _lines(log_events: Any) -> list[Any]:
    names = ("ts", "kind", "fields")
    lost_lines = log_events.filter(kind=LOST).values_list(*names)[:MOST_LINES]
    other_lines = log_events.exclude(kind=LOST).values_list(*names)[:MOST_LINES]
    return sorted([*lost_lines, *other_lines], key=lambda line: line[0], reverse=True)


@analysis(
    "exactly-once",
    title="Exactly-once",
    summary=(
        "how long transactions of its two-phase-commit sinks are open, and whether their time-out "
        "is long enough"
    ),
    tab="checkpoints",
    in_report=True,
)
def exactly_once(job: models.JobCurrent, inputs: Inputs) -> Document:
    transactions = job_transactions(job, inputs.until, inputs.since)
    verdict = _verdict(transactions)
    advice = Advice((_advice(transactions.sink_transactions, verdict),), "What to set")
    return Document(verdict, (_times(transactions), advice, Note(_note(transactions))))


def _times(transactions: JobTransactions) -> Facts:
    sinks = transactions.sink_transactions
    if sinks.timeout_ms is None:
        timeout_by = message(
            "not known: log it (Kafka's producers do, at INFO), or enter it as the rule's "
            "threshold for this job"
        )
    elif sinks.timeout_is_set:
        timeout_by = message("entered for this job")
    else:
        timeout_by = message("logs of TaskManagers, the shortest")
    longest = sinks.longest
    if sinks.open_ms is None:
        open_by = message("no checkpoint was completed")
    elif longest and longest.open_ms == sinks.open_ms:
        open_by = message(
            "checkpoint {checkpoint_id:number}: from the completed one before it to its end",
            checkpoint_id=longest.checkpoint_id,
        )
    else:
        open_by = message("the oldest that is not committed")
    restart_by = (
        message("none was seen")
        if sinks.restart_ms is None
        else message("until all tasks ran; see Starts")
    )
    return Facts(
        (
            Fact("timeout_ms", "Time-out", sinks.timeout_ms, "ms", timeout_by),
            Fact("open_ms", "Longest that one was open", sinks.open_ms, "ms", open_by),
            Fact("restart_ms", "Longest restart", sinks.restart_ms, "ms", restart_by),
            Fact(
                "needed_ms",
                "Both together",
                sinks.needed_ms,
                "ms",
                "a transaction that is prepared when the job fails is committed after its restart",
            ),
            Fact("advised_ms", "Time-out at least, by this history", sinks.advised_ms, "ms"),
            Fact(
                "lost",
                "Logged as lost",
                len(sinks.lost),
                "count",
                "logs of TaskManagers, in this time; without them it is not known",
            ),
        )
    )


def _note(transactions: JobTransactions) -> str:
    if transactions.committers:
        committers = message(
            "Vertices that commit, by name: {names:message}; files are committed so too, and have "
            "no time-out.",
            names=list_text(map(brief, transactions.committers), 5),
        )
    else:
        committers = message(
            "No vertex of the plan is called a committer; sinks before Flink 1.15 are not."
        )
    return message(
        "{named:message} What brokers allow at most (transaction.max.timeout.ms) is not "
        "known here. Where several jobs run on one TaskManager, lines of its log that name "
        "no task are left out.",
        named=committers,
    )


def _verdict(transactions: JobTransactions) -> Verdict:
    sinks = transactions.sink_transactions
    if sinks.lost:
        return Verdict(
            "crit",
            message(
                "Sinks logged that {lost:name} of their transactions were lost after the time-out.",
                lost=count_text(len(sinks.lost)),
            ),
        )
    if sinks.timeout_ms is None:
        return Verdict(
            "unknown",
            (
                "The transaction time-out of its sinks is not known: no log of its TaskManagers "
                "has it, and nobody entered it. Whether transactions fit into it is unknown."
            ),
        )
    timeout = duration_text(sinks.timeout_ms)
    if sinks.open_ms is None:
        return Verdict(
            "unknown",
            message(
                "The time-out is {timeout_ms:name}; no completed checkpoint is known.",
                timeout_ms=timeout,
            ),
        )
    times = {"longest": duration_text(sinks.open_ms), "timeout": timeout}
    if sinks.open_ms > sinks.timeout_ms:
        return Verdict(
            "crit",
            message(
                "Transactions are open for up to {longest:name}, their time-out is {timeout:name}: "
                "what they hold is lost.",
                **times,
            ),
        )
    if sinks.open_ms >= transactions.open_ratio * sinks.timeout_ms:
        return Verdict(
            "warn",
            message(
                "Transactions are open for up to {longest:name}, close to their time-out of "
                "{timeout:name}.",
                **times,
            ),
        )
    if sinks.restart_ms is None:
        return Verdict(
            "ok",
            message(
                "Transactions are open for up to {longest:name} of {timeout:name}. How long a "
                "restart takes was not seen yet.",
                **times,
            ),
        )
    together = duration_text(sinks.needed_ms)
    if (sinks.needed_ms or 0) > sinks.timeout_ms:
        return Verdict(
            "warn",
            message(
                "With a restart in between a transaction would be open for {together:name}; its "
                "time-out is {timeout:name}.",
                together=together,
                timeout=timeout,
            ),
        )
    return Verdict(
        "ok",
        message(
            "Transactions are open for up to {longest:name}, with a restart in between "
            "{together:name}, of {timeout:name}.",
            **times,
            together=together,
        ),
    )


def _advice(sinks: Transactions, verdict: Verdict) -> str:
    if sinks.advised_ms is None:
        return message("Nothing can be advised before a checkpoint completed.")
    is_sufficient = sinks.timeout_ms is not None and sinks.timeout_ms >= sinks.advised_ms
    if sinks.lost and is_sufficient:
        return message(
            "Transactions were lost although the time-out is longer than any was open as far as "
            "seen: look for an outage that lasted longer than {timeout_ms:name}, and for a lower "
            "limit of the store (Kafka's brokers: transaction.max.timeout.ms), before raising it.",
            timeout_ms=duration_text(sinks.timeout_ms),
        )
    restart = (
        message("the longest restart")
        if sinks.restart_ms is not None
        else message("a restart, which was not seen yet and is not counted")
    )
    sentence = message(
        "At least {advised_ms:name}: twice the sum of the longest time open and {restart:name}, "
        "rounded up. ",
        advised_ms=duration_text(sinks.advised_ms),
        restart=restart,
    )
    sentence += message("For Kafka it is transaction.timeout.ms of the sink")
    if sinks.advised_ms > BROKER_MAX_MS:
        sentence += message(
            "; brokers have to allow it by transaction.max.timeout.ms, which is 15 min by default"
        )
    timeout = duration_text(sinks.timeout_ms)
    if is_sufficient:
        return message(
            "{timeout_ms:name} can stay. {needed:text}.", timeout_ms=timeout, needed=sentence
        )
    if verdict.tone == "ok":
        return message(
            "{timeout_ms:name} is enough for what was seen. With a reserve: {needed:text}.",
            timeout_ms=timeout,
            needed=sentence,
        )
    return message("{sentence:text}.", sentence=sentence)
