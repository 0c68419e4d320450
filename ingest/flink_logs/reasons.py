import re
from collections.abc import Iterable

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
PREFLIGHT = frozenset(code for code, _ in _PREFLIGHT)
"""Reasons before a task was triggered."""
REASON_OF_TEXT = {text: code for code, text in (*_PREFLIGHT, *_AFTER_TRIGGER)}
"""Message of a ``CheckpointException`` → ``CheckpointFailureReason``."""

CAUSE_OF_PIECE = {
    "Exceeded checkpoint tolerable failure threshold": "TOLERABLE_FAILURES_EXCEEDED",
    "Insufficient number of network buffers": "INSUFFICIENT_NETWORK_BUFFERS",
    "PartitionNotFoundException": "PARTITION_NOT_FOUND",
    "PartitionConnectionException": "PARTITION_CONNECTION_LOST",
    " in unexpected state ": "PARTITION_PRODUCER_GONE",
    "Heartbeat of TaskManager with id ": "TASKMANAGER_HEARTBEAT_TIMEOUT",
    " is no longer reachable.": "TASKMANAGER_UNREACHABLE",
    "RemoteTransportException": "TASKMANAGER_CONNECTION_LOST",
    "NoResourceAvailableException": "NO_RESOURCE_AVAILABLE",
    "java.lang.OutOfMemoryError": "OUT_OF_MEMORY",
    "OOMKilled": "CONTAINER_OUT_OF_MEMORY",
    "beyond physical memory limits": "CONTAINER_OUT_OF_MEMORY",
    "beyond the 'PHYSICAL' memory limit": "CONTAINER_OUT_OF_MEMORY",
    "reason=Evicted": "POD_EVICTED",
    "StateMigrationException": "STATE_INCOMPATIBLE",
    "Cannot map checkpoint/savepoint state for operator": "STATE_OF_REMOVED_OPERATOR",
    "can not be restored. The maximum parallelism": "MAX_PARALLELISM",
    "maximum permitted memory-backed state": "MEMORY_STATE_TOO_LARGE",
    "retrieved state handle is broken": "HA_STORE_BROKEN",
    "ProducerFencedException": "PRODUCER_FENCED",
    "InvalidTxnStateException": "TRANSACTION_ABORTED",
    "no longer available on the server": "SOURCE_POSITION_GONE",
    "OffsetOutOfRangeException": "SOURCE_POSITION_GONE",
    "Cannot get old subtasks from a descriptor": "TOPOLOGY_CHANGED",
    "Cannot rescale the given pointwise partitioner": "TOPOLOGY_CHANGED",
    "CommitStateUnknownException": "TABLE_COMMIT_UNKNOWN",
    "Task did not exit gracefully within": "TASK_NOT_CANCELLED",
    "DuplicateJobSubmissionException": "JOB_KNOWN_ALREADY",
    "AskTimeoutException": "RPC_TIMEOUT",
    "This is usually caused by: 1) ": "RPC_TIMEOUT",
}
"""Piece of a stack trace → code of a cause. The leftmost piece decides."""


def any_of(pieces: Iterable[str]) -> str:
    return "(" + "|".join(re.sub(r"[][\\.^$*+?{}|()]", r"\\\g<0>", piece) for piece in pieces) + ")"


_ANY_REASON = re.compile(any_of(REASON_OF_TEXT))
_ANY_CAUSE = re.compile(any_of(CAUSE_OF_PIECE))


def reason_of(text: str | None) -> str | None:
    match = _ANY_REASON.search(text or "")
    return REASON_OF_TEXT[match[1]] if match else None


def failure_cause_of(trace: str | None) -> str | None:
    match = _ANY_CAUSE.search(trace or "")
    return CAUSE_OF_PIECE[match[1]] if match else None
