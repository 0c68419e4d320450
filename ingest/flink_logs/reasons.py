import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailureReason:
    """A reason of ``CheckpointException``."""

    code: str
    text: str


_PREFLIGHT = (
    ("PERIODIC_SCHEDULER_SHUTDOWN", "Periodic checkpoint scheduler is shut down."),
    ("TOO_MANY_CHECKPOINT_REQUESTS", "The maximum number of queued checkpoint requests exceeded"),
    ("TOO_MANY_CONCURRENT_CHECKPOINTS", "The maximum number of concurrent checkpoints is exceeded"),
    ("MINIMUM_TIME_BETWEEN_CHECKPOINTS", "The minimum time between checkpoints is still pending."),
    ("NOT_ALL_REQUIRED_TASKS_RUNNING", "Not all required tasks are currently running."),
    ("IO_EXCEPTION", "An Exception occurred while triggering the checkpoint. IO-problem detected."),
    ("EXCEPTION", "An Exception occurred while triggering the checkpoint."),
    ("BLOCKING_OUTPUT_EXIST", "Blocking output edge exists in running tasks."),
)
_AFTER_TRIGGER = (
    ("CHECKPOINT_ASYNC_EXCEPTION", "Asynchronous task checkpoint failed."),
    (
        "CHANNEL_STATE_SHARED_STREAM_EXCEPTION",
        "The checkpoint was aborted due to exception of other subtasks sharing the ChannelState file.",
    ),
    ("CHECKPOINT_EXPIRED", "Checkpoint expired before completing."),
    ("CHECKPOINT_SUBSUMED", "Checkpoint has been subsumed."),
    ("CHECKPOINT_DECLINED_TASK_NOT_READY", "Checkpoint was declined (tasks not ready)"),
    ("CHECKPOINT_DECLINED_TASK_CLOSING", "Checkpoint was declined (task is closing)"),
    (
        "CHECKPOINT_DECLINED_TASK_CLOSING",
        "Checkpoint was declined (task's operators partially closed)",
    ),
    (
        "CHECKPOINT_DECLINED_SUBSUMED",
        "Checkpoint was canceled because a barrier from newer checkpoint was received.",
    ),
    (
        "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER",
        "Task received cancellation from one of its inputs",
    ),
    (
        "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM",
        "Checkpoint was declined because one input stream is finished",
    ),
    ("CHECKPOINT_DECLINED", "Checkpoint was declined."),
    ("CHECKPOINT_COORDINATOR_SHUTDOWN", "CheckpointCoordinator shutdown."),
    ("CHECKPOINT_COORDINATOR_SUSPEND", "Checkpoint Coordinator is suspending."),
    ("JOB_FAILURE", "The job has failed."),
    ("JOB_FAILOVER_REGION", "FailoverRegion is restarting."),
    ("TASK_FAILURE", "Task has failed."),
    ("TASK_CHECKPOINT_FAILURE", "Task local checkpoint failure."),
    ("UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE", "Unknown task for the checkpoint to notify."),
    ("FINALIZE_CHECKPOINT_FAILURE", "Failure to finalize checkpoint."),
    ("TRIGGER_CHECKPOINT_FAILURE", "Trigger checkpoint failure."),
)
REASONS = tuple(FailureReason(code, text) for code, text in (*_PREFLIGHT, *_AFTER_TRIGGER))
PREFLIGHT: frozenset[str] = frozenset(code for code, _ in _PREFLIGHT)
"""Refused before a task was triggered."""

FAILURE_CAUSES: tuple[tuple[str, str], ...] = (
    ("TOLERABLE_FAILURES_EXCEEDED", "Exceeded checkpoint tolerable failure threshold"),
    ("INSUFFICIENT_NETWORK_BUFFERS", "Insufficient number of network buffers"),
    ("PARTITION_NOT_FOUND", "PartitionNotFoundException"),
    ("PARTITION_CONNECTION_LOST", "PartitionConnectionException"),
    ("PARTITION_PRODUCER_GONE", " in unexpected state "),
    ("TASKMANAGER_HEARTBEAT_TIMEOUT", "Heartbeat of TaskManager with id "),
    ("TASKMANAGER_UNREACHABLE", " is no longer reachable."),
    ("TASKMANAGER_CONNECTION_LOST", "RemoteTransportException"),
    ("NO_RESOURCE_AVAILABLE", "NoResourceAvailableException"),
    ("OUT_OF_MEMORY", "java.lang.OutOfMemoryError"),
    ("CONTAINER_OUT_OF_MEMORY", "OOMKilled"),
    ("CONTAINER_OUT_OF_MEMORY", "beyond physical memory limits"),
    ("CONTAINER_OUT_OF_MEMORY", "beyond the 'PHYSICAL' memory limit"),
    ("POD_EVICTED", "reason=Evicted"),
    ("STATE_INCOMPATIBLE", "StateMigrationException"),
    ("STATE_OF_REMOVED_OPERATOR", "Cannot map checkpoint/savepoint state for operator"),
    ("MAX_PARALLELISM", "can not be restored. The maximum parallelism"),
    ("MEMORY_STATE_TOO_LARGE", "maximum permitted memory-backed state"),
    ("HA_STORE_BROKEN", "retrieved state handle is broken"),
    ("PRODUCER_FENCED", "ProducerFencedException"),
    ("TRANSACTION_ABORTED", "InvalidTxnStateException"),
    ("SOURCE_POSITION_GONE", "no longer available on the server"),
    ("SOURCE_POSITION_GONE", "OffsetOutOfRangeException"),
    ("TOPOLOGY_CHANGED", "Cannot get old subtasks from a descriptor"),
    ("TOPOLOGY_CHANGED", "Cannot rescale the given pointwise partitioner"),
    ("TABLE_COMMIT_UNKNOWN", "CommitStateUnknownException"),
    ("TASK_NOT_CANCELLED", "Task did not exit gracefully within"),
    ("JOB_KNOWN_ALREADY", "DuplicateJobSubmissionException"),
    ("RPC_TIMEOUT", "AskTimeoutException"),
    ("RPC_TIMEOUT", "This is usually caused by: 1) "),
)
"""Codes, and the piece of a stack trace that shows each. The leftmost piece decides."""


def any_of(pieces: Iterable[str]) -> str:
    return "(" + "|".join(re.sub(r"[][\\.^$*+?{}|()]", r"\\\g<0>", piece) for piece in pieces) + ")"


REASON_OF_TEXT = {reason.text: reason for reason in REASONS}
CAUSE_OF_PIECE = {piece: code for code, piece in FAILURE_CAUSES}
_ANY_REASON = re.compile(any_of(REASON_OF_TEXT))
_ANY_CAUSE = re.compile(any_of(CAUSE_OF_PIECE))


def reason_of(text: str | None) -> FailureReason | None:
    match = _ANY_REASON.search(text or "")
    return REASON_OF_TEXT[match[1]] if match else None


def failure_cause_of(trace: str | None) -> str | None:
    match = _ANY_CAUSE.search(trace or "")
    return CAUSE_OF_PIECE[match[1]] if match else None
