"""Errors of the ingest stage, by the caller's reaction: retry a ``Retryable`` later, report a
``Skipped`` and go on, stop the command for a ``Refused``. No message ever carries a password, a
token or the user part of a URL.
"""

from ingest.redaction.texts import redact


def words_of(error: BaseException) -> str:
    """What a system or a library says of its error, without codes."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class IngestError(Exception):
    """Base of all errors raised by ``ingest``; the message is safe to show and to log."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class Retryable(IngestError):
    """The source did not answer in time, or cannot now; the next cycle asks again."""


class Skipped(IngestError):
    """One bad input: it is recorded as skipped, the others are still read."""


class Refused(IngestError):
    """The request itself is wrong (unknown option, unreadable root); nothing was started."""
