from ingest.errors import Retryable, Skipped
from ingest.messages import message


class Unanswered(Retryable):
    """``reason`` is unreachable, timeout or http_error. ``connected``: a connection was made.
    ``refused``: no process listens at the port.
    """

    def __init__(
        self,
        text: str,
        reason: str,
        status: int | None = None,
        *,
        connected: bool = True,
        refused: bool = False,
    ) -> None:
        super().__init__(text)
        self.reason, self.status, self.connected = reason, status, connected
        self.refused = refused


class BadAnswer(Skipped):
    """An answer that cannot be used: ``reason`` is not_found, unauthorized, tls, refused_address,
    redirected, http_error, too_large, bad_json, ``NO_CHECKPOINTS`` or one of ``NOT_YET``."""

    def __init__(self, text: str, reason: str, status: int | None = None) -> None:
        super().__init__(text)
        self.reason, self.status = reason, status


Fault = Unanswered | BadAnswer

NOT_MEASURED = "not_measured"
"""Flink has no metrics of any subtask of a vertex, as for some ten seconds after a start. Since
1.18, ``JobVertexBackPressureHandler`` then throws: it computes the maximum of an empty list.
"""
INITIALIZING = "initializing"
"""The job has no JobMaster yet. From 1.18 on, a request for checkpoints then fails; Flink caches
the answer for ``web.refresh-interval`` (3 s). Up to 1.12 it is a 404.
"""
NO_CHECKPOINTS = "no_checkpoints"
"""The job takes no checkpoints: a 404 for its checkpoint settings (``CheckpointConfigHandler``), in
all releases and archives.
"""
SAYS_NO_CHECKPOINTS = "Checkpointing is not enabled for this job"
NOT_YET = frozenset({NOT_MEASURED, INITIALIZING})
KNOWN_WITHIN_S = 120
"""A reason of ``NOT_YET`` that lasts longer is reported."""

_BODY_PARTS = (
    (
        NOT_MEASURED,
        (
            "java.util.NoSuchElementException",
            "JobVertexBackPressureHandler.getMaxBackPressureRatio(",
        ),
    ),
    (
        INITIALIZING,
        ("dispatcher.UnavailableDispatcherOperationException", "Dispatcher.getJobMasterGateway("),
    ),
)

RETRIED_STATUSES = frozenset({429, 502, 503, 504})


def not_yet_reason(status: int, body: str) -> str | None:
    if status == 500:
        for reason, parts in _BODY_PARTS:
            if all(part in body for part in parts):
                return reason
    return None


def lasting_text(path: str, reason: str) -> str:
    why = (
        "is still initializing this job. Its log says what that waits for, such as the storage of "
        "the checkpoint that the job starts from."
        if reason == INITIALIZING
        else "has metrics of none of its subtasks. Check that they run, and that it reaches "
        "metrics.internal.query-service.port of TaskManagers."
    )
    minutes = KNOWN_WITHIN_S // 60
    return f"{path} has answered HTTP 500 for {minutes} minutes or more: the JobManager {why}"


def fault_of_status(status: int, path: str, body: str = "") -> Fault:
    """The message does not quote the body: the address may be that of an internal server."""
    answered = message("{path:name} answered HTTP {status:number}", path=path, status=status)
    plain = message("{answered:message}.", answered=answered)
    if status in RETRIED_STATUSES:
        return Unanswered(plain, "http_error", status)
    if status == 404:
        has_none = SAYS_NO_CHECKPOINTS in body
        return BadAnswer(plain, NO_CHECKPOINTS if has_none else "not_found", status)
    if status in (401, 403):
        text = message(
            "{answered:message}. Check user, password, token or ticket of this cluster.",
            answered=answered,
        )
        return BadAnswer(text, "unauthorized", status)
    text = message("{answered:message}; the log of the JobManager says why.", answered=answered)
    return BadAnswer(text, not_yet_reason(status, body) or "http_error", status)
