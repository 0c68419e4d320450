"""Takes out of a recording what nobody should send to others: credentials, and parameters that users made up."""

from typing import Any

from ingest.errors import redact
from ingest.flink_rest.address import Address
from ingest.flink_rest.payloads.config import MASK, holds_secret

DROPPED_KEYS = frozenset({"user-config", "system-properties", "environment", "env"})
"""They may hold anything and nothing reads them."""

MAX_DEPTH = 60


def masked(body: Any, address: Address, depth: int = 0) -> Any:
    """The decoded answer, same shape, without secrets."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(body, str):
        return address.hide(redact(body))
    if isinstance(body, list):
        return [masked(item, address, depth + 1) for item in body]
    if isinstance(body, dict):
        secret_setting = isinstance(body.get("key"), str) and holds_secret(body["key"])
        return {
            key: MASK if (secret_setting and key == "value") else _masked_entry(key, value, address, depth) for key, value in body.items()
        }
    return body


def masked_log(text: bytes, address: Address) -> bytes:
    """Whole lines of a log without secrets; every other byte stays what it is."""
    return address.hide(redact(text.decode("latin-1"))).encode("latin-1")


def _masked_entry(key: str, value: Any, address: Address, depth: int) -> Any:
    if key in DROPPED_KEYS:
        return {} if isinstance(value, dict) else [] if isinstance(value, list) else None
    if isinstance(value, str) and holds_secret(key):
        return MASK
    return masked(value, address, depth + 1)
