"""Logging: credentials never reach a handler, whoever wrote the line."""

import logging

from ingest.errors import redact


class Redacted(logging.Filter):
    """Replaces credentials in the formatted message; the record of other handlers stays as it is."""

    def filter(self, record: logging.LogRecord) -> logging.LogRecord:
        safe = logging.makeLogRecord(record.__dict__)
        safe.msg, safe.args = redact(record.getMessage()), ()
        return safe
