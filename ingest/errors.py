"""Errors of ``ingest``, by the caller's reaction. No message carries a password, a token or the
user part of a URL.
"""

from ingest.redaction.texts import redact


class IngestError(Exception):
    """The message is safe to show and to log."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class Retryable(IngestError):
    """The next cycle asks again."""


class Skipped(IngestError):
    """One bad input; the others are still read."""


class Refused(IngestError):
    """The request itself is wrong; nothing was started."""
