from collections.abc import Iterator

from ingest.messages import bytes_text, message, plural
from spark_jobs.diagnosis.checkpoint_history import checkpoints_are_off, savepoints
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, RecoveryPoint

RULE = "checkpoint.unprotected"


@rule(
    RULE,
    message("Not protected"),
    message(
        "Checkpointing or the retention of checkpoints is off, or the newest retained checkpoint "
        "is not whole."
    ),
    fed_by="incidents/1.20.5/unretained",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    point = window.recovery_point
    if point and point.missing_files and not _has_savepoint_since(window, point.audited_at_ms):
        yield _incomplete_finding(window, point)
    elif checkpoints_are_off(window):
        yield _off_finding(window)
    elif window.config.externalized is False:
        yield _unretained_finding(window)
    elif window.config.mode is None and point is None:
        raise NotJudged(message("the checkpoint settings of this job have not been seen"))


def _has_savepoint_since(window: JobWindow, audited_at_ms: int) -> bool:
    return any(sample.trigger_time_ms > audited_at_ms for sample in savepoints(window.checkpoints))


def _incomplete_finding(window: JobWindow, point: RecoveryPoint) -> Finding:
    size = f", {bytes_text(point.missing_bytes)}," if point.missing_bytes else ""
    return job_finding(
        window,
        RULE,
        "critical",
        "high",
        title=message(
            "The newest retained checkpoint cannot be restored: {missing_files:message}{size:name} "
            "missing",
            missing_files=plural(
                point.missing_files or 0, "{count:count} file", "{count:count} files"
            ),
            size=size,
        ),
        cause=message(
            "Checkpoint {checkpoint_id:number} refers to files that are not in the storage. Flink "
            "would fail to restore it.",
            checkpoint_id=point.checkpoint_id,
        ),
        next_step=message(
            "Do not stop or restart this job. Take a savepoint now: it writes the full state "
            "again. Then find out who deleted the files."
        ),
        seen_at_ms=point.audited_at_ms,
        evidence=(
            Evidence(message("missing files"), point.missing_files, "count", 1, ">="),
            Evidence(
                message("newest retained checkpoint"), point.checkpoint_id, note=point.path or ""
            ),
        ),
        data={"checkpoint_id": point.checkpoint_id},
    )


def _off_finding(window: JobWindow) -> Finding:
    age = (
        message(", {at_ms:duration} ago", at_ms=window.at_ms - window.start_time_ms)
        if window.start_time_ms is not None
        else ""
    )
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=message("Periodic checkpoints are off"),
        cause=message(
            "A failure now loses all state since the job was started{age:message}; a "
            "source that keeps its place in Flink's state starts over.",
            age=age,
        ),
        next_step=message(
            "Set execution.checkpointing.interval unless the job has no state and may repeat or "
            "miss records."
        ),
        evidence=(Evidence(message("checkpoint interval"), message("off")),),
    )


def _unretained_finding(window: JobWindow) -> Finding:
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=message("Checkpoints are not retained"),
        cause=message(
            "When the job fails for good or is cancelled, Flink deletes its checkpoints: "
            "all state is lost unless a savepoint exists. Restarts that Flink does by "
            "itself are not affected."
        ),
        next_step=message(
            "Set execution.checkpointing.externalized-checkpoint-retention to "
            "RETAIN_ON_CANCELLATION (or to DELETE_ON_CANCELLATION to keep them after "
            "failures only)."
        ),
        evidence=(Evidence(message("retention"), message("off")),),
    )
