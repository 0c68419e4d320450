"""Why a checkpoint failed, in words for somebody who does not know Flink's code."""

WORDS: dict[str, str] = {
    "CHECKPOINT_EXPIRED": "It was not acknowledged by every subtask before the time-out.",
    "CHECKPOINT_DECLINED": "A subtask declined it.",
    "CHECKPOINT_DECLINED_TASK_NOT_READY": "A subtask declined it because it was not running yet.",
    "CHECKPOINT_DECLINED_TASK_CLOSING": "A subtask declined it because it was closing.",
    "CHECKPOINT_DECLINED_SUBSUMED": "A subtask had already seen the barrier of a newer checkpoint.",
    "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER": "A subtask upstream had given up, and told those below it.",
    "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM": "A subtask declined it because its input had ended.",
    "CHECKPOINT_ASYNC_EXCEPTION": "Writing the snapshot failed in the asynchronous part of a subtask.",
    "CHECKPOINT_EXCEPTION": "The snapshot of a subtask failed.",
    "IO_EXCEPTION": "Writing to the checkpoint storage failed.",
    "CHECKPOINT_SUBSUMED": "A newer checkpoint completed first.",
    "CHECKPOINT_COORDINATOR_SHUTDOWN": "The job ended or its coordinator shut down while the checkpoint ran.",
    "CHECKPOINT_COORDINATOR_SUSPEND": "The job stopped running (restart or cancel) while the checkpoint ran.",
    "JOB_FAILURE": "The job failed while the checkpoint ran.",
    "JOB_FAILOVER_REGION": "A part of the job restarted while the checkpoint ran.",
    "TASK_FAILURE": "A task failed before it had acknowledged the checkpoint.",
    "TASK_CHECKPOINT_FAILURE": "A task could not be told to take the snapshot.",
    "FINALIZE_CHECKPOINT_FAILURE": "All subtasks acknowledged, but the JobManager could not write the checkpoint's metadata.",
    "TRIGGER_CHECKPOINT_FAILURE": "The checkpoint could not be triggered.",
    "UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE": "A task that does not take part answered.",
    "NOT_ALL_REQUIRED_TASKS_RUNNING": "Not all tasks were running, so it was not started.",
    "TOO_MANY_CONCURRENT_CHECKPOINTS": "As many checkpoints as allowed were running, so it was not started.",
    "MINIMUM_TIME_BETWEEN_CHECKPOINTS": "The pause between checkpoints was not over, so it was not started.",
    "TOO_MANY_CHECKPOINT_REQUESTS": "Too many checkpoints were waiting, so it was not started.",
    "PERIODIC_SCHEDULER_SHUTDOWN": "Periodic checkpoints had been switched off.",
}


def in_words(reason: str | None, reason_text: str | None) -> str:
    """Our words where the code is known, otherwise Flink's own; empty where neither says anything."""
    return WORDS.get(reason or "", "") or reason_text or ""
