"""Decoded JSON without secrets, in the same shape."""

from typing import Any

from ingest.redaction.marks import MASK
from ingest.redaction.names import holds_secret
from ingest.redaction.texts import redact

DEEPEST = 60
_NAMES = ("key", "name")


def redact_document(body: Any, depth: int = 0) -> Any:
    """Texts lose what :func:`redact` finds; under a name that holds secrets every text and number is hidden."""
    if isinstance(body, str):
        return redact(body)
    if depth > DEEPEST:
        return None
    if isinstance(body, list):
        return [redact_document(item, depth + 1) for item in body]
    if isinstance(body, dict):
        named = any(isinstance(body.get(name), str) and holds_secret(body[name]) for name in _NAMES)
        return {
            key: hidden(value) if (named and key == "value") or (isinstance(key, str) and holds_secret(key)) else redact_document(value, depth + 1)
            for key, value in body.items()
        }
    return body


def hidden(value: Any, depth: int = 0) -> Any:
    """Shape and yes or no may be seen, nothing else."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        return [hidden(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key: hidden(item, depth + 1) for key, item in value.items()}
    return MASK
