"""Errors of the ingest stage, by what a caller does about them.

``Retryable`` may succeed later, ``Skipped`` is reported and passed over, ``Refused`` stops the
command. No message ever carries a password, a token or the user part of a URL.
"""

from ingest.redaction.texts import redact


class IngestError(Exception):
    """Base of all errors raised by ``ingest``; the message is safe to show and to log."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class Retryable(IngestError):
    """The source did not answer in time or said that it cannot now; the next cycle asks again."""


class Skipped(IngestError):
    """This one input is bad; it is recorded as skipped, and all others go on."""


class Refused(IngestError):
    """The request itself is wrong (unknown option, unreadable root); nothing was started."""
