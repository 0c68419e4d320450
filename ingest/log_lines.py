import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from ingest.redaction.texts import redact

FORMAT, REQUEST = "WEIR_LOG_FORMAT", "WEIR_REQUEST_ID"
TEXT, JSON = FORMS = ("text", "json")

_request_id: ContextVar[str] = ContextVar("request_id", default="")
_run: ContextVar[str] = ContextVar("run", default="")


def request_id() -> str:
    return _request_id.get()


def run() -> str:
    return _run.get()


@contextmanager
def request_context(request: str) -> Iterator[None]:
    token = _request_id.set(request)
    try:
        yield
    finally:
        _request_id.reset(token)


@contextmanager
def run_context(attempt: str) -> Iterator[None]:
    token = _run.set(attempt)
    try:
        yield
    finally:
        _run.reset(token)


class TextFormatter(logging.Formatter):
    """``2026-11-24 05:00:00,001 INFO webapp.work.runs [spark-… 4f2a…] message``."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(belongs_to)s%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        context = " ".join(filter(None, (run(), request_id())))
        record.belongs_to = f"[{context}] " if context else ""
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
            "process": record.process,
            "request_id": request_id(),
            "run": run(),
            "status_code": getattr(record, "status_code", None),
            "exception": redact(self.formatException(record.exc_info)) if record.exc_info else None,
        }
        return json.dumps(
            {name: value for name, value in fields.items() if value not in (None, "")},
            ensure_ascii=False,
        )


def formatter(form: str) -> logging.Formatter:
    return JsonFormatter() if form == JSON else TextFormatter()


def configure(environ: Mapping[str, str], level: int = logging.WARNING) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(environ.get(FORMAT, TEXT)))
    logging.basicConfig(level=level, handlers=[handler])
