"""Errors of ``ingest``, by the caller's reaction. No message carries a password, a token or the
user part of a URL.
"""

from ingest.redaction.texts import redact


def words_of(error: BaseException) -> str:
    """What a system or a library says of its error, without codes."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class IngestError(Exception):
    """The message is safe to show and to log."""

    reason = "error"
    """The code of a skip."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class Retryable(IngestError):
    """The next cycle asks again."""


class Skipped(IngestError):
    """One bad input; the others are still read."""

    reason = "bad_payload"


class Refused(IngestError):
    """The request itself is wrong; nothing was started."""
