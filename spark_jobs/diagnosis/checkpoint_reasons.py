from dataclasses import dataclass

from ingest.messages import message


@dataclass(frozen=True)
class ReasonWords:
    """``is_harmless``: normal at a start or an end, or if a newer checkpoint completes first."""

    means: str
    next_step: str
    is_harmless: bool = False


LOST_WITH_JOB = frozenset({"TASK_FAILURE", "JOB_FAILURE", "JOB_FAILOVER_REGION"})
"""Reasons that Flink does not count: a task or the job failed while the checkpoint was pending."""

JOB_NOT_LISTED = "JOB_NOT_LISTED"
"""The job was no longer listed, so the outcome is unknown."""

_LOOK_AT_EXCEPTION = message(
    "Read the exception: it comes from the job's own code, from the state backend or from the "
    "checkpoint storage."
)
_NOTHING = message("Nothing to do unless it continues while the job is running steadily.")

REASON_WORDS: dict[str, ReasonWords] = {
    "CHECKPOINT_DECLINED": ReasonWords(
        message(
            "A task answered that it cannot take its snapshot; usually its synchronous part threw "
            "an exception."
        ),
        _LOOK_AT_EXCEPTION,
    ),
    "CHECKPOINT_ASYNC_EXCEPTION": ReasonWords(
        message("A task took its snapshot, but writing it to the checkpoint storage failed."),
        message(
            "Look at the exception and at the storage as seen from that host: permissions, quota, "
            "throttling, network."
        ),
    ),
    # Flink (1.12 to 2.3) gives this reason only if a TaskExecutor does not run the task whose
    # checkpoint it should trigger.
    "TASK_CHECKPOINT_FAILURE": ReasonWords(
        message(
            "A TaskManager no longer ran a task in which it was asked to trigger the checkpoint: "
            "usually a source that had just finished."
        ),
        _NOTHING,
        is_harmless=True,
    ),
    "CHANNEL_STATE_SHARED_STREAM_EXCEPTION": ReasonWords(
        message(
            "Another subtask that writes its channel state into the same file failed, and took "
            "this one's snapshot with it."
        ),
        message(
            "Look for the first exception of the checkpoint on the same TaskManager: that subtask "
            "is the cause."
        ),
    ),
    "CHECKPOINT_DECLINED_TASK_NOT_READY": ReasonWords(
        message("A task was not ready yet, as after a start or restart."),
        _NOTHING,
        is_harmless=True,
    ),
    "CHECKPOINT_DECLINED_TASK_CLOSING": ReasonWords(
        message("A task was closing because its input has ended."), _NOTHING, is_harmless=True
    ),
    "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM": ReasonWords(
        message("One input of a task had ended."), _NOTHING, is_harmless=True
    ),
    "CHECKPOINT_DECLINED_SUBSUMED": ReasonWords(
        message("The barrier of a newer checkpoint arrived before all barriers of this one."),
        message(
            "Allow fewer concurrent checkpoints or a longer pause between them if this continues."
        ),
        is_harmless=True,
    ),
    "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER": ReasonWords(
        message("A task upstream cancelled the checkpoint and notified those downstream."),
        message("Look at the first decline of the checkpoint: the task upstream has the cause."),
    ),
    "TASK_FAILURE": ReasonWords(
        message(
            "A task failed before it had acknowledged the checkpoint; its restart discarded the "
            "checkpoint."
        ),
        message(
            "Read the exception of the task that failed, or look for the TaskManager that was lost."
        ),
    ),
    "JOB_FAILURE": ReasonWords(
        message(
            "The job failed while the checkpoint was pending; its restart or end discarded the "
            "checkpoint."
        ),
        message("Read the exception with which the job failed."),
    ),
    "JOB_FAILOVER_REGION": ReasonWords(
        message(
            "A region of the job restarted while the checkpoint was pending, which discarded it."
        ),
        message("Read the exception of the task that failed in that region."),
    ),
    "IO_EXCEPTION": ReasonWords(
        message("The JobManager could not start the checkpoint: its storage failed."),
        message(
            "Check that the JobManager can write to the checkpoint directory: permissions, quota, "
            "name node or endpoint."
        ),
    ),
    "EXCEPTION": ReasonWords(
        message("The JobManager could not start the checkpoint."),
        message(
            "Read the JobManager's log at that instant; often the checkpoint directory cannot be "
            "written."
        ),
    ),
    "FINALIZE_CHECKPOINT_FAILURE": ReasonWords(
        message(
            "All tasks had acknowledged, but the JobManager could not write or register the "
            "_metadata file."
        ),
        message(
            "Check the JobManager's connection to the checkpoint directory and to the "
            "high-availability storage, and its heap for large metadata."
        ),
    ),
    "TRIGGER_CHECKPOINT_FAILURE": ReasonWords(
        message("The JobManager failed while it asked the tasks to begin."),
        message("Read the JobManager's log at that instant."),
    ),
    "UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE": ReasonWords(
        message(
            "A TaskManager did not know the task it was asked to snapshot: the JobManager and "
            "the TaskManager disagree on where the task runs."
        ),
        message("Look for a restart or a lost connection around that instant."),
    ),
}

UNKNOWN_REASON = ReasonWords(
    message("Flink gave no reason that Weir knows."),
    message("Read the failure message and the JobManager's log at the instant of the failure."),
)


def words_of(reason: str | None) -> ReasonWords:
    return REASON_WORDS.get(reason or "", UNKNOWN_REASON)
