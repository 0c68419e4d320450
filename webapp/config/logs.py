"""Logging: credentials never reach a handler's output."""

import logging

from ingest.redaction.texts import redact


class RedactingFormatter(logging.Formatter):
    """Formats as usual, trace-backs included, then takes the credentials out."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
