from collections.abc import Mapping
from typing import Any

from ingest.messages import is_message
from ingest.redaction.marks import MASK, is_harmless
from ingest.redaction.names import holds_secret, secrecy_of
from ingest.redaction.texts import redact

DEEPEST = 60
_NAMES = ("key", "name")


def redact_document(body: Any, depth: int = 0) -> Any:
    """For documents of other programs: every value with a name of secrets is hidden."""
    if isinstance(body, str):
        return redact(body)
    if depth > DEEPEST:
        return None
    if isinstance(body, list):
        return [redact_document(item, depth + 1) for item in body]
    if isinstance(body, dict):
        names_secret = any(
            isinstance(body.get(name), str) and holds_secret(body[name]) for name in _NAMES
        )
        return {
            key: _hide(value)
            if (names_secret and key == "value") or holds_secret(str(key))
            else redact_document(value, depth + 1)
            for key, value in body.items()
        }
    return body


def redact_texts(body: Any, depth: int = 0) -> Any:
    """For documents of Weir: only texts can be secrets."""
    if isinstance(body, str):
        return redact(body)
    if depth > DEEPEST:
        return None
    if isinstance(body, list | tuple):
        return [redact_texts(item, depth + 1) for item in body]
    if isinstance(body, Mapping):
        if is_message(body):  # templates have no secrets
            return {**body, "values": redact_texts(body["values"], depth + 1)}
        names_secret = any(
            isinstance(body.get(name), str) and secrecy_of(body[name]) for name in _NAMES
        )
        return {
            key: MASK
            if isinstance(value, str)
            and not is_harmless(value)
            and ((names_secret and key == "value") or secrecy_of(str(key)))
            else redact_texts(value, depth + 1)
            for key, value in body.items()
        }
    return body


def _hide(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool) or value == "":
        return value
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        return [_hide(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key: _hide(item, depth + 1) for key, item in value.items()}
    return MASK
