"""Why a checkpoint failed and what to do, for readers who do not know Flink's code."""

from ingest.messages import message
from spark_jobs.diagnosis.checkpoint_reasons import (
    JOB_NOT_LISTED,
    REASON_WORDS,
    UNKNOWN_REASON,
    words_of,
)
from webapp.lib.translations import gettext_lazy as _

WORDS: dict[str, str] = {code: words.means for code, words in REASON_WORDS.items()} | {
    "CHECKPOINT_EXPIRED": message("It was not acknowledged by every subtask before the time-out."),
    "CHECKPOINT_EXCEPTION": message("The snapshot of a subtask failed."),
    "CHECKPOINT_SUBSUMED": message("A newer checkpoint completed first."),
    "CHECKPOINT_COORDINATOR_SHUTDOWN": message(
        "The job ended or its checkpoint coordinator was shut down while the checkpoint was "
        "pending."
    ),
    "CHECKPOINT_COORDINATOR_SUSPEND": message(
        "The job was cancelled or stopped while the checkpoint was pending."
    ),
    "NOT_ALL_REQUIRED_TASKS_RUNNING": message("Not all tasks were running, so it was not started."),
    "TOO_MANY_CONCURRENT_CHECKPOINTS": message(
        "As many checkpoints as allowed were running, so it was not started."
    ),
    "MINIMUM_TIME_BETWEEN_CHECKPOINTS": message(
        "The pause between checkpoints was not over, so it was not started."
    ),
    JOB_NOT_LISTED: message(
        "The JobManager listed the job no more while it was pending; whether it completed is not "
        "known."
    ),
    "ALREADY_QUEUED": message("Another one was already waiting, so it was not started."),
    "BLOCKING_OUTPUT_EXIST": message(
        "A running task still had an output that is written as a whole (batch), so it was not "
        "started."
    ),
    "TOO_MANY_CHECKPOINT_REQUESTS": message(
        "Too many checkpoints were waiting, so it was not started."
    ),
    "PERIODIC_SCHEDULER_SHUTDOWN": message("Periodic checkpoints had been switched off."),
}


def reason_sentence(reason: str | None, reason_text: str | None) -> str:
    """Weir's sentence for a known code, else Flink's text; may be empty."""
    return WORDS.get(reason or "") or reason_text or ""


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
_PHASE_STEPS = {
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
    """The next step by reason, else by phase; empty if both are unknown."""
    if reason in _NEXT_STEPS:
        return str(_NEXT_STEPS[reason])
    words = words_of(reason)
    if reason and words is not UNKNOWN_REASON:
        return words.next_step
    return str(_PHASE_STEPS.get(dominant_phase or "", words.next_step if reason else ""))
