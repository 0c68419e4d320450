"""What can be wrong with an answer, in words and as the reason code of a skip."""

import json
from typing import Any

from ingest.errors import Retryable, Skipped
from ingest.flink_rest.payloads.fields import clean_text

FIRST_LINE_CHARS = 300


class Unanswered(Retryable):
    """No usable answer now: ``reason`` is unreachable, timeout or http_error; asking later may help.

    ``connected`` is false where not even a connection came about, so that nothing was asked.
    """

    def __init__(self, message: str, reason: str, path: str, status: int | None = None, *, connected: bool = True) -> None:
        super().__init__(message)
        self.reason, self.path, self.status, self.connected = reason, path, status, connected


class BadAnswer(Skipped):
    """An answer that cannot be used: ``reason`` is not_found, unauthorized, tls, redirected, http_error, too_large or bad_json."""

    def __init__(self, message: str, reason: str, path: str, status: int | None = None) -> None:
        super().__init__(message)
        self.reason, self.path, self.status = reason, path, status


Fault = Unanswered | BadAnswer

RETRIED_STATUSES = frozenset({429, 502, 503, 504})


def of_status(status: int, path: str, body: bytes) -> Fault:
    """The fault that an answer with any status but 200 means; quotes the first line that Flink gave as error."""
    said = first_error_line(body)
    message = f"{path} answered HTTP {status}" + (f": {said}" if said else "")
    if status in RETRIED_STATUSES:
        return Unanswered(message, "http_error", path, status)
    if status in (401, 403):
        return BadAnswer(f"{message}. Check user, password or token of this cluster.", "unauthorized", path, status)
    return BadAnswer(message, "not_found" if status == 404 else "http_error", path, status)


def first_error_line(body: bytes) -> str:
    """First line of the first entry of Flink's ``{"errors": [...]}`` that says something, or of any other text."""
    text = body.decode("utf-8", "replace")
    try:
        decoded: Any = json.loads(text)
    except (ValueError, RecursionError):
        decoded = None
    if isinstance(decoded, dict) and isinstance(decoded.get("errors"), list):
        text = "\n".join(str(entry) for entry in decoded["errors"])
    lines = (line.strip() for line in text.splitlines())
    return clean_text(next((line for line in lines if line and not line.startswith("<")), ""), FIRST_LINE_CHARS) or ""
