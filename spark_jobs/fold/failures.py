from collections.abc import Sequence
from dataclasses import dataclass, replace

from spark_jobs.fold.checkpoint_log import root_cause
from spark_jobs.fold.rows import Row, Rows, first_known, rank

LOGGED_LATE_MS = 1_000
"""A job's change of state is logged up to this long after the failure that caused it."""
TOGETHER_MS = 2_000
"""Of failures within this time, the first is the cause of the others."""
SAME_MS = 100
"""Log and REST date the same failure at most this far apart."""
_FAILING = ("FAILING", "FAILED", "RESTARTING")


@dataclass(frozen=True)
class Failure:
    """``text``: class and message of the innermost cause. ``of_task``: a task failed."""

    at: int
    by_log: bool
    of_task: bool
    text: str | None
    trace: str | None


def failures(events: Rows, exceptions: Rows) -> list[Failure]:
    return sorted(
        {*map(_logged, filter(is_failure, events)), *map(_reported, exceptions)},
        key=lambda failure: (
            failure.at,
            not failure.by_log,
            not failure.of_task,
            rank(failure.text),
            rank(failure.trace),
        ),
    )


def is_failure(event: Row) -> bool:
    if event["kind"] == "task_state":
        return bool(event["to_state"] == "FAILED")
    # The job's own line has a stack trace if no task failed before it.
    return (
        event["kind"] == "job_state"
        and event["to_state"] in _FAILING
        and event["detail"] is not None
    )


def failure_between(all_failures: Sequence[Failure], from_ms: int, to_ms: int) -> Failure | None:
    """The first of the last failures in the span, as its best report words it."""
    in_span = [failure for failure in all_failures if from_ms <= failure.at <= to_ms]
    first = next(
        (failure for failure in in_span if failure.at >= in_span[-1].at - TOGETHER_MS), None
    )
    if first is None:
        return None
    # The log's cause is from the whole trace. Of shortened traces, the longest is best.
    reports = [
        failure
        for failure in in_span
        if 0 <= failure.at - first.at <= SAME_MS and failure.of_task == first.of_task
    ]
    best = next((failure for failure in reports if failure.by_log and failure.text), first)
    return replace(
        best,
        trace=max((failure.trace for failure in reports if failure.trace), key=len, default=None),
    )


def _logged(event: Row) -> Failure:
    text = first_known(event["reason_text"], root_cause(event["detail"]))
    return Failure(event["ts"], True, event["kind"] == "task_state", text, event["detail"])


def _reported(row: Row) -> Failure:
    text = first_known(root_cause(row["stacktrace"]), row["exception_name"])
    return Failure(row["ts"], False, bool(row["task_key"]), text, row["stacktrace"])
