from collections.abc import Iterable, Sequence

from ingest.messages import message
from spark_jobs.diagnosis.findings import NotJudged
from spark_jobs.diagnosis.last_result import caches_last_result
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow

FAILED_OUTCOMES = frozenset({"declined", "expired", "failed"})
"""A refusal before the start, or an abort by a cancel or stop, is no failure."""

COUNTED_REASONS = frozenset(
    {
        "CHECKPOINT_ASYNC_EXCEPTION",
        "CHECKPOINT_EXPIRED",
        "CHECKPOINT_DECLINED",
        "IO_EXCEPTION",
        "EXCEPTION",
        "FINALIZE_CHECKPOINT_FAILURE",
    }
)
"""Reasons that count towards ``tolerable-failed-checkpoints`` (Flink 2.3)."""

INCREMENTAL_SIZE_SINCE = (1, 15)
"""REST reports full and uploaded size separately."""

NO_ID = 0
"""The id of checkpoints that failed before Flink gave them one; Flink counts from 1."""

FLINK_TIMEOUT_MS = 600_000


def by_time(checkpoint: CheckpointSample) -> tuple[int, int]:
    return checkpoint.trigger_time_ms, checkpoint.checkpoint_id


def recent(window: JobWindow, look_back_s: float) -> list[CheckpointSample]:
    """Checkpoints that ended in the last ``look_back_s``, by time of trigger. Raises NotJudged if
    no checkpoint is known although checkpoints may be enabled.
    """
    if not window.checkpoints and not checkpoints_are_off(window):
        raise NotJudged(message("no checkpoint of this job has been seen"))
    since_ms = window.at_ms - look_back_s * 1000
    return [sample for sample in _ended(window.checkpoints) if sample.ended_ms >= since_ms]


@caches_last_result()
def _ended(checkpoints: Sequence[CheckpointSample]) -> list[CheckpointSample]:
    return sorted(
        (sample for sample in checkpoints if sample.outcome != "in_progress"), key=by_time
    )


@caches_last_result()
def recently_completed(window: JobWindow) -> list[CheckpointSample]:
    """Within half an hour: at least three at the usual intervals of up to ten minutes. Without
    savepoints, by time of trigger. Raises NotJudged like ``recent``.
    """
    return completed(recent(window, 1_800))


def completed(checkpoints: Iterable[CheckpointSample]) -> list[CheckpointSample]:
    """Without savepoints."""
    return [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.outcome == "completed" and not checkpoint.is_savepoint
    ]


def savepoints(checkpoints: Iterable[CheckpointSample]) -> list[CheckpointSample]:
    return [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.outcome == "completed" and checkpoint.is_savepoint
    ]


def consecutive_failures(window: JobWindow) -> int:
    """Failures since the last completed checkpoint or savepoint, which Flink compares with
    ``tolerable-failed-checkpoints``. Failed savepoints count too.
    """
    failures = 0
    for checkpoint in sorted(window.checkpoints, key=by_time):
        if checkpoint.outcome == "completed":
            failures = 0
        elif checkpoint.outcome in FAILED_OUTCOMES and (
            checkpoint.reason is None or checkpoint.reason in COUNTED_REASONS
        ):
            failures += 1
    return failures


def checkpoints_are_off(window: JobWindow) -> bool:
    return window.config.mode is not None and window.config.interval_ms is None


def runs_after(window: JobWindow, at_ms: int) -> bool:
    return any(
        event.kind == "job_state"
        and event.fields.get("to_state") == "RUNNING"
        and event.at_ms > at_ms
        for event in window.events
    ) or any(checkpoint.trigger_time_ms > at_ms for checkpoint in window.checkpoints)


def name_of(checkpoint: CheckpointSample) -> str:
    if checkpoint.checkpoint_id == NO_ID:
        return message("a checkpoint without an id")
    return message(
        "{words:message} {checkpoint_id:number}",
        words=message("savepoint") if checkpoint.is_savepoint else message("checkpoint"),
        checkpoint_id=checkpoint.checkpoint_id,
    )
