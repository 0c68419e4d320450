"""The time-out was sized for savepoints, which take far longer than checkpoints: trouble with
checkpoints shows late.
"""

from collections.abc import Iterator

from ingest.messages import message, plural
from spark_jobs.diagnosis.checkpoint_history import completed, name_of
from spark_jobs.diagnosis.findings import Evidence, Finding, NotJudged
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.statistics import quantile
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.timeout_advice import timeout_for

RULE = "checkpoint.savepoint_timeout"
CHECKPOINTS_AT_LEAST = 30
"""Half of what a window holds: of fewer, how long checkpoints usually take is not known well enough
to size a time-out.
"""


@rule(
    RULE,
    message("Time-out sized for savepoints"),
    message("Savepoints take far longer than checkpoints, and the time-out is sized for them."),
    fed_by="incidents/1.20.5/slow-savepoint",
    hold_s=86_400,
    thresholds=(
        Threshold(
            f"{RULE}.times_slower",
            5,
            "times",
            2,
            1_000,
            message(
                "A full copy against an increment: below five times, one time-out serves both."
            ),
        ),
        Threshold(
            f"{RULE}.minimum_savepoint_s",
            60,
            "s",
            1,
            86_400,
            message("Nobody raises a time-out for a savepoint that takes less than a minute."),
        ),
        Threshold(
            f"{RULE}.sized_times",
            4,
            "times",
            1,
            100,
            message(
                "A time-out beyond four times the savepoint was chosen for other reasons, such as "
                "Flink's default of ten minutes."
            ),
        ),
        Threshold(
            f"{RULE}.advised_times",
            3,
            "times",
            1,
            100,
            message(
                "Only a time-out of three times what checkpoints need, or more, hides their "
                "trouble for long."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    timeout_ms = window.config.timeout_ms
    savepoints = [
        checkpoint
        for checkpoint in window.checkpoints
        if checkpoint.is_savepoint
        and checkpoint.outcome == "completed"
        and checkpoint.end_to_end_ms is not None
    ]
    if window.terminal or not savepoints:
        return
    savepoint_ms = max(savepoint.end_to_end_ms or 0 for savepoint in savepoints)
    if savepoint_ms < limits[f"{RULE}.minimum_savepoint_s"] * 1000:
        return
    if not timeout_ms and window.config.mode is None:
        raise NotJudged(message("the checkpoint settings of this job have not been seen"))
    if not timeout_ms or timeout_ms > limits[f"{RULE}.sized_times"] * savepoint_ms:
        return
    durations = [
        sample.end_to_end_ms
        for sample in completed(window.checkpoints)
        if sample.end_to_end_ms is not None
    ]
    if len(durations) < CHECKPOINTS_AT_LEAST:
        return
    p99_ms = quantile(durations, 0.99)
    enough_ms = timeout_for(p99_ms)
    if (
        savepoint_ms >= limits[f"{RULE}.times_slower"] * p99_ms
        and timeout_ms >= limits[f"{RULE}.advised_times"] * enough_ms
    ):
        yield _finding(window, limits, savepoints, p99_ms, enough_ms, timeout_ms)


def _finding(
    window: JobWindow,
    limits: Limits,
    savepoints: list[CheckpointSample],
    p99_ms: float,
    enough_ms: int,
    timeout_ms: int,
) -> Finding:
    slowest = max(
        savepoints, key=lambda savepoint: (savepoint.end_to_end_ms or 0, savepoint.checkpoint_id)
    )
    savepoint_ms = slowest.end_to_end_ms or 0
    at_ms = slowest.ended_ms
    times = f"{RULE}.times_slower"
    native = (
        message(" (from 1.15 on: `flink savepoint --type native`)")
        if window.version is None or window.version >= (1, 15)
        else ""
    )
    failed = sum((savepoint.end_to_end_ms or 0) > enough_ms for savepoint in savepoints)
    would_fail = message(
        "{failed:number} of {savepoints:message}",
        failed=failed,
        savepoints=plural(len(savepoints), "{count:count} savepoint", "{count:count} savepoints"),
    )
    return job_finding(
        window,
        RULE,
        "info",
        "medium",
        title=message(
            "The time-out of {timeout_ms:duration} serves savepoints; {enough_ms:duration} would "
            "be enough for checkpoints alone",
            timeout_ms=timeout_ms,
            enough_ms=enough_ms,
        ),
        cause=message(
            "Savepoints take up to {savepoint_ms:duration}, checkpoints {p99_ms:duration}. "
            "Flink has one time-out for both, so a checkpoint that hangs expires only "
            "after {timeout_ms:duration}.",
            savepoint_ms=savepoint_ms,
            p99_ms=p99_ms,
            timeout_ms=timeout_ms,
        ),
        next_step=message(
            "Keep the time-out while such savepoints are taken: {enough_ms:duration} would "
            "have failed {would_fail:message}. Alert on the age of the last completed "
            "checkpoint instead. To lower the time-out, first make savepoints "
            "faster{native:message} or take retained checkpoints instead.",
            enough_ms=enough_ms,
            would_fail=would_fail,
            native=native,
        ),
        seen_at_ms=at_ms,
        evidence=(
            limits.compared(
                message("savepoint over checkpoint duration"),
                savepoint_ms / max(p99_ms, 1),
                "times",
                ">=",
                times,
                at_ms,
            ),
            Evidence(
                message("slowest savepoint"), savepoint_ms, "ms", at_ms=at_ms, note=name_of(slowest)
            ),
            Evidence(message("99th percentile of checkpoints"), p99_ms, "ms", at_ms=at_ms),
            Evidence(
                message("time-out"),
                timeout_ms,
                "ms",
                limits[f"{RULE}.advised_times"] * enough_ms,
                ">=",
                at_ms=at_ms,
            ),
            Evidence(
                message("enough for checkpoints alone"),
                enough_ms,
                "ms",
                at_ms=at_ms,
                note=message("would have failed {would_fail:message}", would_fail=would_fail),
            ),
        ),
        data={
            "checkpoints_need_ms": enough_ms,
            "savepoint_id": slowest.checkpoint_id,
            "savepoints_it_would_fail": failed,
        },
    )
