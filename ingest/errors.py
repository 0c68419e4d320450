"""Errors of ``ingest``, one class for each reaction of callers. No message has a password, a token
or the user part of a URL.
"""

from ingest.redaction.texts import redact


def words_of(error: BaseException) -> str:
    """The text of an error of the system or of a library, without its code."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class IngestError(Exception):
    """The message is safe to show and to log."""

    reason = "error"
    """``Skip.reason`` of a skip that this error causes."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class Retryable(IngestError):
    """The next cycle makes the request again."""


class Skipped(IngestError):
    """The caller leaves out this input and goes on."""

    reason = "bad_payload"


class Refused(IngestError):
    """The request itself is wrong; nothing was started."""
