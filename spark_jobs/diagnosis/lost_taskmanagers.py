"""Why TaskManagers were lost, as far as a log or an API server says it."""

from ingest.messages import Message, message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.stack_traces import without_middle
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST

REASON_CHARS = 200


def loss_reasons(window: JobWindow) -> dict[str, str]:
    """By TaskManager; of the newest loss."""
    return {
        annotation.subject: str(annotation.detail["reason"])
        for annotation in window.annotations
        if annotation.kind == TASKMANAGER_LOST and annotation.detail.get("reason")
    }


def newest_loss(cause: FailureCause, reason: str) -> Message:
    return message(
        "The newest loss: {title:message} ({reason:text}).",
        title=cause.title,
        reason=without_middle(reason, REASON_CHARS),
    )
