"""A job is judged at the time of its newest data, so the end of a recording is no stall."""

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ingest.messages import join_messages, message, plural
from spark_jobs.diagnosis.checkpoint_history import (
    FAILED_OUTCOMES,
    FLINK_TIMEOUT_MS,
    by_time,
    checkpoints_are_off,
    completed,
    name_of,
)
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    NotJudged,
    Threshold,
)
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.statistics import counts_of

RULE = "checkpoint.stalled"
INTERVALS, CRITICAL = f"{RULE}.intervals", f"{RULE}.critical_times"
TAKES_NONE = frozenset(
    {
        "CREATED",
        "INITIALIZING",
        "RECONCILING",
        "FINISHED",
        "CANCELED",
        "FAILED",
        "SUSPENDED",
        "CANCELLING",
    }
)
TRIGGERS_AT_LEAST = 5
"""Enough to derive the interval if no setting is known."""


@rule(
    RULE,
    message("No checkpoint completes"),
    message("No checkpoint has completed for three intervals and for longer than the time-out."),
    fed_by="incidents/2.3.0/expired",
    thresholds=(
        Threshold(
            INTERVALS,
            3,
            "intervals",
            1,
            1_000,
            message(
                "One lost or slow checkpoint is not yet a stall; three in a row without a success "
                "are."
            ),
        ),
        Threshold(
            CRITICAL,
            3,
            "times",
            1,
            1_000,
            message(
                "Three times as late as a stall begins, a recovery replays many intervals' worth "
                "of records."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal or window.state in TAKES_NONE or checkpoints_are_off(window):
        return
    newest = max(
        completed(window.checkpoints),
        key=lambda sample: (sample.ended_ms, sample.checkpoint_id),
        default=None,
    ) or _older_checkpoint(window)
    since_ms = _since_ms(window, newest)
    limit_ms = _limit_ms(window, limits)
    age_ms = window.at_ms - since_ms
    if age_ms <= limit_ms:
        return
    attempts = [
        checkpoint
        for checkpoint in sorted(window.checkpoints, key=by_time)
        if checkpoint.trigger_time_ms > since_ms and not checkpoint.is_savepoint
    ]
    yield job_finding(
        window,
        RULE,
        "critical" if age_ms >= limits[CRITICAL] * limit_ms else "warning",
        _confidence(window, attempts),
        title=message("No checkpoint has completed for {age_ms:duration}", age_ms=age_ms),
        cause=_cause(window, attempts),
        next_step=_next_step(attempts),
        evidence=_evidence(limits, age_ms, limit_ms, newest, attempts),
    )


def _older_checkpoint(window: JobWindow) -> CheckpointSample | None:
    """The newest completed checkpoint, by states of vertices."""
    newest = max(
        window.vertex_states,
        key=lambda state: (state.trigger_time_ms, state.checkpoint_id),
        default=None,
    )
    return (
        CheckpointSample(newest.checkpoint_id, newest.trigger_time_ms, "completed")
        if newest
        else None
    )


def _since_ms(window: JobWindow, newest: CheckpointSample | None) -> int:
    if newest:
        return newest.ended_ms
    triggers_ms = [checkpoint.trigger_time_ms for checkpoint in window.checkpoints]
    if window.start_time_ms is None and not triggers_ms:
        raise NotJudged(message("neither a checkpoint nor the start of the job has been seen"))
    # If the history begins later than the job, earlier checkpoints are unknown.
    begin_ms = max(window.start_time_ms or 0, min(triggers_ms) if len(triggers_ms) >= 2 else 0)
    return begin_ms or min(triggers_ms)


def _limit_ms(window: JobWindow, limits: Limits) -> float:
    config = window.config
    interval_ms: float | None = config.interval_ms
    if interval_ms is None:
        triggers_ms = sorted(
            checkpoint.trigger_time_ms
            for checkpoint in window.checkpoints
            if not checkpoint.is_savepoint
        )
        if len(triggers_ms) < TRIGGERS_AT_LEAST:
            raise NotJudged(message("the checkpoint interval is not known"))
        interval_ms = median(after - before for before, after in pairwise(triggers_ms))
    pause_ms = max(interval_ms, config.min_pause_ms or 0)
    return max(limits[INTERVALS] * pause_ms, config.timeout_ms or FLINK_TIMEOUT_MS)


def _confidence(window: JobWindow, attempts: list[CheckpointSample]) -> Confidence:
    if any(
        sample.outcome in FAILED_OUTCOMES or sample.outcome == "in_progress" for sample in attempts
    ):
        return "high"
    return "medium" if attempts or window.state == "RUNNING" else "low"


def _cause(window: JobWindow, attempts: list[CheckpointSample]) -> str:
    if window.state not in (None, "RUNNING"):
        return message(
            "The job is {state:name}: no checkpoint can complete until all of its tasks run.",
            state=window.state,
        )
    if not attempts:
        return message(
            "None was even started: some task is not running (one that has finished, "
            "before 1.14), the coordinator has stopped, or the minimum pause is never over."
        )
    reported = join_messages(
        (
            message("{count:number} {outcome:text}", count=count, outcome=outcome.replace("_", " "))
            for outcome, count in counts_of(sample.outcome for sample in attempts).items()
        ),
        ", ",
    )
    return message(
        "Of {tried:message} since then none completed: {reported:name}.",
        tried=plural(len(attempts), "{count:count} checkpoint", "{count:count} checkpoints"),
        reported=reported,
    )


def _next_step(attempts: list[CheckpointSample]) -> str:
    if attempts:
        return message(
            "Look at the findings about declined and expired checkpoints and at the newest "
            "attempt; do not restart the job before: it would replay everything since the "
            "last success."
        )
    return message(
        "Look at the states of all tasks and at the JobManager's log for 'Failed to trigger "
        "checkpoint'."
    )


def _evidence(
    limits: Limits,
    age_ms: int,
    limit_ms: float,
    newest: CheckpointSample | None,
    attempts: list[CheckpointSample],
) -> Iterator[Evidence]:
    yield Evidence(
        message("age of the recovery point"),
        age_ms,
        "ms",
        limit_ms,
        ">",
        INTERVALS,
        message(
            "the larger of {intervals:number} intervals and the time-out",
            intervals=limits[INTERVALS],
        ),
    )
    yield Evidence(
        message("last success"),
        name_of(newest) if newest else message("none since the job started or its history begins"),
    )
    for outcome, count in counts_of(sample.outcome for sample in attempts).items():
        yield Evidence(
            message("attempts since: {replace:name}", replace=outcome.replace("_", " ")),
            count,
            "count",
        )
