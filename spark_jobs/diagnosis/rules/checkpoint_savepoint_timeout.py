"""The time-out was sized for savepoints, which take far longer than checkpoints: trouble with checkpoints shows late."""

from collections.abc import Iterator

from spark_jobs.diagnosis.checkpoint_history import completed, name_of
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.interval_advice import timeout_for
from spark_jobs.diagnosis.job_subject import job_finding
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.statistics import quantile
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.wording import ms_text

RULE = "checkpoint.savepoint_timeout"
CHECKPOINTS_AT_LEAST = 5


@rule(
    RULE,
    "Time-out sized for savepoints",
    "Savepoints take far longer than checkpoints, and the time-out is sized for them.",
    hold_s=86_400,
    thresholds=(
        Threshold(
            f"{RULE}.times_slower", 5, "times", 2, 1_000,
            "A full copy against an increment: below five times, one time-out serves both.",
        ),
        Threshold(
            f"{RULE}.minimum_savepoint_s", 60, "s", 1, 86_400,
            "Nobody raises a time-out for a savepoint that takes less than a minute.",
        ),
        Threshold(
            f"{RULE}.sized_times", 4, "times", 1, 100,
            "A time-out beyond four times the savepoint was chosen for other reasons, such as Flink's default of ten minutes.",
        ),
        Threshold(
            f"{RULE}.advised_times", 3, "times", 1, 100,
            "Only a time-out of three times what checkpoints need, or more, hides their trouble for long.",
        ),
    ),
)  # fmt: skip
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    timeout_ms = window.config.timeout_ms
    savepoints = [one for one in window.checkpoints if one.is_savepoint and one.outcome == "completed" and one.end_to_end_ms is not None]
    if window.terminal or not timeout_ms or not savepoints:
        return
    slowest = max(savepoints, key=lambda one: (one.end_to_end_ms or 0, one.checkpoint_id))
    savepoint_ms = slowest.end_to_end_ms or 0
    if savepoint_ms < limits[f"{RULE}.minimum_savepoint_s"] * 1000 or timeout_ms > limits[f"{RULE}.sized_times"] * savepoint_ms:
        return
    durations = [one.end_to_end_ms for one in completed(window.checkpoints) if one.end_to_end_ms is not None]
    if len(durations) < CHECKPOINTS_AT_LEAST:
        return
    p99_ms = quantile(durations, 0.99)
    advised_ms = timeout_for(p99_ms)
    if savepoint_ms >= limits[f"{RULE}.times_slower"] * p99_ms and timeout_ms >= limits[f"{RULE}.advised_times"] * advised_ms:
        yield _finding(window, limits, slowest, p99_ms, advised_ms, timeout_ms)


def _finding(window: JobWindow, limits: Limits, slowest: CheckpointSample, p99_ms: float, advised_ms: int, timeout_ms: int) -> Finding:
    savepoint_ms, at_ms, times = slowest.end_to_end_ms or 0, slowest.ended_ms, f"{RULE}.times_slower"
    native = " (from 1.15 on: `flink savepoint --type native`)" if window.version is None or window.version >= (1, 15) else ""
    return job_finding(
        window,
        RULE,
        "info",
        "medium",
        title=f"The time-out of {ms_text(timeout_ms)} serves savepoints; checkpoints need {ms_text(advised_ms)}",
        cause=f"Savepoints take up to {ms_text(savepoint_ms)}, checkpoints {ms_text(p99_ms)}. Flink has one time-out for both, so a "
        f"checkpoint that hangs is given up only after {ms_text(timeout_ms)}.",
        next_step=f"Make savepoints faster{native} or take retained checkpoints instead, then set execution.checkpointing.timeout "
        f"to {ms_text(advised_ms)}. Until then, alert on a checkpoint's age rather than on its expiry.",
        seen_at_ms=at_ms,
        evidence=(
            Evidence("savepoint over checkpoint duration", savepoint_ms / max(p99_ms, 1), "times", limits[times], ">=", times, at_ms),
            Evidence("slowest savepoint", savepoint_ms, "ms", at_ms=at_ms, note=name_of(slowest)),
            Evidence("99th percentile of checkpoints", p99_ms, "ms", at_ms=at_ms),
            Evidence("checkpoint time-out", timeout_ms, "ms", limits[f"{RULE}.advised_times"] * advised_ms, ">=", at_ms=at_ms),
            Evidence("advised checkpoint time-out", advised_ms, "ms", at_ms=at_ms),
        ),
        data={"advised_timeout_ms": advised_ms, "savepoint_id": slowest.checkpoint_id},
    )
