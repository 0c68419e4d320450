"""What the transactions of a job come to, in words."""

from ingest.messages import message
from spark_jobs.diagnosis.transactions import BROKER_MAX_MS
from webapp.exactly_once.job_transactions import JobTransactions
from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text, duration_text


def verdict(found: JobTransactions) -> Badge:
    sinks = found.of_sinks
    if sinks.lost:
        return Badge(
            message("Sinks logged that {lost:name} of their transactions were lost after the time-out.", lost=count_text(len(sinks.lost))),
            "▲",
            "crit",
        )
    if sinks.timeout_ms is None:
        return Badge(
            message(
                "The transaction time-out of its sinks is not known: no log of its "
                "TaskManagers has it, and nobody entered it. Whether transactions fit into it "
                "is unknown."
            ),
            "?",
            "unknown",
        )
    if sinks.open_ms is None:
        return Badge(
            message("The time-out is {timeout_ms:name}; no completed checkpoint is known.", timeout_ms=duration_text(sinks.timeout_ms)),
            "?",
            "unknown",
        )
    timeout, longest = duration_text(sinks.timeout_ms), duration_text(sinks.open_ms)
    if sinks.open_ms > sinks.timeout_ms:
        return Badge(
            message(
                "Transactions are open for up to {longest:name}, their time-out is {timeout:name}: what they hold is lost.",
                longest=longest,
                timeout=timeout,
            ),
            "▲",
            "crit",
        )
    if sinks.open_ms >= found.open_ratio * sinks.timeout_ms:
        return Badge(
            message(
                "Transactions are open for up to {longest:name}, close to their time-out of {timeout:name}.",
                longest=longest,
                timeout=timeout,
            ),
            "◆",
            "warn",
        )
    if sinks.restart_ms is None:
        return Badge(
            message(
                "Transactions are open for up to {longest:name} of {timeout:name}. How long a restart takes was not seen yet.",
                longest=longest,
                timeout=timeout,
            ),
            "●",
            "ok",
        )
    together = duration_text(sinks.needed_ms)
    if (sinks.needed_ms or 0) > sinks.timeout_ms:
        return Badge(
            message(
                "With a restart in between a transaction would be open for {together:name}; its time-out is {timeout:name}.",
                together=together,
                timeout=timeout,
            ),
            "◆",
            "warn",
        )
    return Badge(
        message(
            "Transactions are open for up to {longest:name}, with a restart in between {together:name}, of {timeout:name}.",
            longest=longest,
            together=together,
            timeout=timeout,
        ),
        "●",
        "ok",
    )


def advice(found: JobTransactions) -> str:
    sinks = found.of_sinks
    if sinks.advised_ms is None:
        return message("Nothing can be advised before a checkpoint completed.")
    restart = (
        message("the longest restart") if sinks.restart_ms is not None else message("a restart, which was not seen yet and is not counted")
    )
    said = message(
        "At least {advised_ms:name}: twice the longest that one was open and {restart:name}. ",
        advised_ms=duration_text(sinks.advised_ms),
        restart=restart,
    )
    said += message("For Kafka it is transaction.timeout.ms of the sink")
    if sinks.advised_ms > BROKER_MAX_MS:
        said += message("; brokers have to allow it by transaction.max.timeout.ms, which is 15 min by default")
    if sinks.timeout_ms is not None and sinks.timeout_ms >= sinks.advised_ms:
        return message("{timeout_ms:name} can stay. {needed:text}.", timeout_ms=duration_text(sinks.timeout_ms), needed=said)
    return message("{sentence:text}.", sentence=said)
