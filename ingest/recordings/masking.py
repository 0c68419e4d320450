"""Removes from a recording what must not be passed on: credentials, and parameters that users made
up.
"""

from typing import Any

from ingest.flink_rest.address import Address
from ingest.redaction.blocks import within
from ingest.redaction.documents import redact_document
from ingest.redaction.texts import LINES_AFTER, redact

DROPPED_KEYS = frozenset({"user-config", "system-properties", "environment", "env"})

DEEPEST = 60
LONGEST_CONTEXT = 4_096


def masked(body: Any, address: Address) -> Any:
    """The decoded answer, same shape, without secrets."""
    return redact_document(_without(body, address))


def _without(body: Any, address: Address, depth: int = 0) -> Any:
    if depth > DEEPEST:
        return None
    if isinstance(body, str):
        return address.hide(body)
    if isinstance(body, list):
        return [_without(item, address, depth + 1) for item in body]
    if isinstance(body, dict):
        return {
            key: _empty(value) if key in DROPPED_KEYS else _without(value, address, depth + 1)
            for key, value in body.items()
        }
    return body


def _empty(value: Any) -> Any:
    return {} if isinstance(value, dict) else [] if isinstance(value, list) else None


class MaskedLog:
    """One log, whole lines at a time: what begins in one piece, such as a key, is hidden in the
    next too.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._in_key = False
        self._context = ""

    def masked(self, lines: bytes) -> bytes:
        text, self._in_key = within(
            lines.decode("utf-8", "surrogateescape"), open_before=self._in_key
        )
        text = self._address.hide(text)
        redacted = redact(self._context + text)
        hidden = (
            redacted[len(self._context) :] if redacted.startswith(self._context) else redact(text)
        )
        self._context = "".join(
            (self._context + hidden)[-LONGEST_CONTEXT:].splitlines(keepends=True)[-LINES_AFTER:]
        )
        return hidden.encode("utf-8", "surrogateescape")
