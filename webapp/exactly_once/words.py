"""What the transactions of a job come to, in words."""

from spark_jobs.diagnosis.transactions import BROKER_MAX_MS
from webapp.exactly_once.job_transactions import JobTransactions
from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text, duration_text


def verdict(found: JobTransactions) -> Badge:
    sinks = found.of_sinks
    if sinks.lost:
        return Badge(f"Sinks logged that {count_text(len(sinks.lost))} of their transactions were lost after the time-out.", "▲", "crit")
    if sinks.timeout_ms is None:
        return Badge(
            "The transaction time-out of its sinks is not known: no log of its TaskManagers has it, and nobody entered it. "
            "Whether transactions fit into it is unknown.",
            "?",
            "unknown",
        )
    if sinks.open_ms is None:
        return Badge(f"The time-out is {duration_text(sinks.timeout_ms)}; no completed checkpoint is known.", "?", "unknown")
    timeout, longest = duration_text(sinks.timeout_ms), duration_text(sinks.open_ms)
    if sinks.open_ms > sinks.timeout_ms:
        return Badge(f"Transactions are open for up to {longest}, their time-out is {timeout}: what they hold is lost.", "▲", "crit")
    if sinks.open_ms >= found.open_ratio * sinks.timeout_ms:
        return Badge(f"Transactions are open for up to {longest}, close to their time-out of {timeout}.", "◆", "warn")
    if sinks.restart_ms is None:
        return Badge(f"Transactions are open for up to {longest} of {timeout}. How long a restart takes was not seen yet.", "●", "ok")
    together = duration_text(sinks.needed_ms)
    if (sinks.needed_ms or 0) > sinks.timeout_ms:
        return Badge(f"With a restart in between a transaction would be open for {together}; its time-out is {timeout}.", "◆", "warn")
    return Badge(f"Transactions are open for up to {longest}, with a restart in between {together}, of {timeout}.", "●", "ok")


def advice(found: JobTransactions) -> str:
    sinks = found.of_sinks
    if sinks.advised_ms is None:
        return "Nothing can be advised before a checkpoint completed."
    restart = "the longest restart" if sinks.restart_ms is not None else "a restart, which was not seen yet and is not counted"
    said = f"At least {duration_text(sinks.advised_ms)}: twice the longest that one was open and {restart}. "
    said += "For Kafka it is transaction.timeout.ms of the sink"
    if sinks.advised_ms > BROKER_MAX_MS:
        said += "; brokers have to allow it by transaction.max.timeout.ms, which is 15 min by default"
    if sinks.timeout_ms is not None and sinks.timeout_ms >= sinks.advised_ms:
        return f"{duration_text(sinks.timeout_ms)} can stay. {said}."
    return f"{said}."
