"""From a reason code to the outcome of a checkpoint."""

from ingest.flink_logs.reasons import PREFLIGHT, REASONS

_DECLINED = (
    "CHECKPOINT_DECLINED",
    "CHECKPOINT_DECLINED_TASK_NOT_READY",
    "CHECKPOINT_DECLINED_TASK_CLOSING",
    "CHECKPOINT_DECLINED_SUBSUMED",
    "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER",
    "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM",
    # A task reports these with a decline message of its own.
    "CHECKPOINT_ASYNC_EXCEPTION",
    "CHANNEL_STATE_SHARED_STREAM_EXCEPTION",
    "TASK_CHECKPOINT_FAILURE",
)
_ABORTED = (
    "CHECKPOINT_COORDINATOR_SHUTDOWN",
    "CHECKPOINT_COORDINATOR_SUSPEND",
    "JOB_FAILURE",
    "JOB_FAILOVER_REGION",
    # The task died for its own reasons and took the checkpoint with it; Flink does not count it as failed either.
    "TASK_FAILURE",
)
# Flink counts these two against the tolerance: storage did not answer, which is a failure and no refusal.
_FAILED = ("IO_EXCEPTION", "EXCEPTION")

OUTCOME_OF_REASON: dict[str, str] = {
    **{reason.code: "failed" for reason in REASONS},
    **dict.fromkeys(PREFLIGHT, "preflight"),
    **dict.fromkeys(_FAILED, "failed"),
    **dict.fromkeys(_DECLINED, "declined"),
    **dict.fromkeys(_ABORTED, "aborted"),
    "CHECKPOINT_EXPIRED": "expired",
    "CHECKPOINT_SUBSUMED": "subsumed",
}
"""Every reason that Flink has; one that is not listed is ``failed``."""


def outcome_of(reason: str) -> str:
    return OUTCOME_OF_REASON.get(reason, "failed")
