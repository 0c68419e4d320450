"""Why a checkpoint failed and what to do, for readers who do not know Flink's code."""

from spark_jobs.diagnosis.checkpoint_reasons import JOB_NOT_LISTED, UNKNOWN_REASON, words_of
from webapp.lib.translations import gettext_lazy as _

WORDS: dict[str, str] = {
    "CHECKPOINT_EXPIRED": _("It was not acknowledged by every subtask before the time-out."),
    "CHECKPOINT_DECLINED": _("A subtask declined it."),
    "CHECKPOINT_DECLINED_TASK_NOT_READY": _(
        "A subtask declined it because it was not running yet."
    ),
    "CHECKPOINT_DECLINED_TASK_CLOSING": _("A subtask declined it because it was closing."),
    "CHECKPOINT_DECLINED_SUBSUMED": _(
        "A subtask had already seen the barrier of a newer checkpoint."
    ),
    "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER": _(
        "A subtask upstream had cancelled it, and notified those downstream."
    ),
    "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM": _(
        "A subtask declined it because its input had ended."
    ),
    "CHECKPOINT_ASYNC_EXCEPTION": _(
        "Writing the snapshot failed in the asynchronous part of a subtask."
    ),
    "CHANNEL_STATE_SHARED_STREAM_EXCEPTION": _(
        "Another subtask that writes its in-flight data into the same file failed."
    ),
    "CHECKPOINT_EXCEPTION": _("The snapshot of a subtask failed."),
    "IO_EXCEPTION": _("The JobManager could not start it: the checkpoint storage did not answer."),
    "EXCEPTION": _(
        "The JobManager could not start it: an exception came up, often of the checkpoint storage."
    ),
    "CHECKPOINT_SUBSUMED": _("A newer checkpoint completed first."),
    "CHECKPOINT_COORDINATOR_SHUTDOWN": _(
        "The job ended or its checkpoint coordinator was shut down while the checkpoint was "
        "pending."
    ),
    "CHECKPOINT_COORDINATOR_SUSPEND": _(
        "The job was cancelled or stopped while the checkpoint was pending."
    ),
    "JOB_FAILURE": _("The job failed while the checkpoint was pending."),
    "JOB_FAILOVER_REGION": _(
        "A region of the job restarted after a failure while the checkpoint was pending."
    ),
    "TASK_FAILURE": _("A task failed before it had acknowledged the checkpoint."),
    "TASK_CHECKPOINT_FAILURE": _(
        "A TaskManager no longer ran a task in which it was asked to trigger it; usually it had "
        "just finished."
    ),
    "FINALIZE_CHECKPOINT_FAILURE": _(
        "All subtasks acknowledged, but the JobManager could not write the checkpoint's metadata."
    ),
    "TRIGGER_CHECKPOINT_FAILURE": _("The checkpoint could not be triggered."),
    "UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE": _("A task that does not take part answered."),
    "NOT_ALL_REQUIRED_TASKS_RUNNING": _("Not all tasks were running, so it was not started."),
    "TOO_MANY_CONCURRENT_CHECKPOINTS": _(
        "As many checkpoints as allowed were running, so it was not started."
    ),
    "MINIMUM_TIME_BETWEEN_CHECKPOINTS": _(
        "The pause between checkpoints was not over, so it was not started."
    ),
    JOB_NOT_LISTED: _(
        "The JobManager listed the job no more while it was pending; whether it completed is not "
        "known."
    ),
    "ALREADY_QUEUED": _("Another one was already waiting, so it was not started."),
    "BLOCKING_OUTPUT_EXIST": _(
        "A running task still had an output that is written as a whole (batch), so it was not "
        "started."
    ),
    "TOO_MANY_CHECKPOINT_REQUESTS": _("Too many checkpoints were waiting, so it was not started."),
    "PERIODIC_SCHEDULER_SHUTDOWN": _("Periodic checkpoints had been switched off."),
}


def in_words(reason: str | None, reason_text: str | None) -> str:
    """Weir's sentence for a known code, else Flink's own text; empty without either."""
    return str(WORDS.get(reason or "", "")) or reason_text or ""


_NEXT_STEPS = {
    "CHECKPOINT_EXPIRED": _(
        "Find out what the subtasks that had not acknowledged were doing: waiting for the barrier, "
        "or writing state."
    ),
    "NOT_ALL_REQUIRED_TASKS_RUNNING": _(
        "Nothing, unless tasks stay missing: then look for missing slots or restarts."
    ),
    "MINIMUM_TIME_BETWEEN_CHECKPOINTS": _(
        "Nothing: the pause between checkpoints works as intended."
    ),
    "TOO_MANY_CONCURRENT_CHECKPOINTS": _(
        "Find out why the checkpoint before it takes so long; more concurrent checkpoints "
        "would not help."
    ),
    "CHECKPOINT_SUBSUMED": _("Nothing: a newer checkpoint protects the job."),
    "CHECKPOINT_COORDINATOR_SHUTDOWN": _("Nothing, if the job was meant to end."),
    "CHECKPOINT_COORDINATOR_SUSPEND": _(
        "Nothing, if the job was meant to be cancelled or stopped."
    ),
}
_OF_PHASE = {
    "start_delay": _(
        "Its barrier waited longest before it reached the slowest subtask: look for back-pressure "
        "downstream of there."
    ),
    "alignment": _(
        "The slowest subtask waited longest for the barriers of its other inputs: look for a "
        "skewed or slow input channel."
    ),
    "sync": _(
        "The slowest subtask stopped longest to prepare its snapshot: look at its state backend, "
        "its disk and locks in its code."
    ),
    "async": _(
        "The slowest subtask spent longest on writing: look at its state size, its disk and "
        "its connection to the checkpoint storage."
    ),
}


def next_step(reason: str | None, dominant_phase: str | None) -> str:
    """By reason, then by the phase that took longest; empty if neither is known."""
    if reason in _NEXT_STEPS:
        return str(_NEXT_STEPS[reason])
    words = words_of(reason)
    if reason and words is not UNKNOWN_REASON:
        return words.next_step
    return str(_OF_PHASE.get(dominant_phase or "", words.next_step if reason else ""))
