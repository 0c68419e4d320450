"""A failure now would lose more than it should: no checkpoints, none that outlives the job, or one that cannot be restored."""

from collections.abc import Iterator

from spark_jobs.diagnosis.checkpoint_history import checkpoints_are_off
from spark_jobs.diagnosis.findings import Evidence, Finding, NotJudged
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.wording import bytes_text, count_text, ms_text

RULE = "checkpoint.unprotected"


@rule(
    RULE,
    "Not protected",
    "Checkpointing or the retention of checkpoints is off, or the newest retained checkpoint is not whole.",
    thresholds=(
        Threshold(
            f"{RULE}.missing_files", 1, "files", 1, 1_000_000,
            "Flink restores a checkpoint only when every file of it can be read.",
        ),
    ),
)  # fmt: skip
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    point = window.recovery_point
    missing = point.missing_files if point and not _has_savepoint_since(window, point.audited_at_ms) else None
    if missing is not None and missing >= limits[f"{RULE}.missing_files"]:
        yield _not_whole(window, limits)
    elif checkpoints_are_off(window):
        yield _off(window)
    elif window.config.externalized is False:
        yield _not_retained(window)
    elif window.config.mode is None and point is None:
        raise NotJudged("the checkpoint settings of this job have not been seen")


def _has_savepoint_since(window: JobWindow, audited_at_ms: int) -> bool:
    """It holds the whole state by itself, whatever later checkpoints still refer to."""
    return any(one.is_savepoint and one.outcome == "completed" and one.trigger_time_ms > audited_at_ms for one in window.checkpoints)


def _not_whole(window: JobWindow, limits: Limits) -> Finding:
    point, key = window.recovery_point, f"{RULE}.missing_files"
    if point is None:
        raise ValueError("a finding of this kind rests on a recovery point")
    evidence = [
        limits.compared("missing files", point.missing_files, "count", ">=", key, point.audited_at_ms),
        Evidence("newest retained checkpoint", f"checkpoint {point.checkpoint_id}", at_ms=point.audited_at_ms, note=point.path or ""),
    ]
    if point.missing_bytes is not None:
        evidence.insert(1, Evidence("missing bytes", point.missing_bytes, "bytes", at_ms=point.audited_at_ms))
    size = f", {bytes_text(point.missing_bytes)}," if point.missing_bytes else ""
    return job_finding(
        window,
        RULE,
        "critical",
        "high",
        title=f"The newest retained checkpoint cannot be restored: {count_text(point.missing_files or 0, 'file')}{size} missing",
        cause=f"Checkpoint {point.checkpoint_id} refers to files that are not in the storage. Flink would fail to restore it.",
        next_step="Do not stop or restart this job. Take a savepoint now: it writes the full state again. Then find out who deleted "
        "the files.",
        seen_at_ms=point.audited_at_ms,
        evidence=evidence,
        data={"checkpoint_id": point.checkpoint_id, "path": point.path, "missing_files": point.missing_files},
    )


def _off(window: JobWindow) -> Finding:
    age = f", {ms_text(window.at_ms - window.start_time_ms)} ago" if window.start_time_ms is not None else ""
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title="Periodic checkpoints are off",
        cause=f"A failure now loses all state since the job was started{age}; a source that keeps its place in Flink's state starts over.",
        next_step="Set execution.checkpointing.interval unless the job has no state and may repeat or miss records.",
        evidence=(Evidence("checkpoint interval", "off", at_ms=window.at_ms, note=f"mode {window.config.mode}"),),
        data={"missing": "interval"},
    )


def _not_retained(window: JobWindow) -> Finding:
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title="Checkpoints are not retained",
        cause="When the job fails for good or is cancelled, Flink deletes its checkpoints: all state is lost unless a savepoint exists. "
        "Restarts that Flink does by itself are not affected.",
        next_step="Set execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION (or to DELETE_ON_CANCELLATION "
        "to keep them after failures only).",
        evidence=(Evidence("retention", "off", at_ms=window.at_ms, note="externalized checkpoints are not enabled"),),
        data={"missing": "retention"},
    )
