"""Standard Webhooks signatures: HMAC-SHA256 over id, timestamp and body, one per secret."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime

PREFIX = "whsec_"
KEY_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(
    secrets_now: Iterable[str], message_id: str, at: datetime, body: bytes
) -> dict[str, str]:
    """The timestamp is that of the attempt: receivers can refuse old requests."""
    timestamp_s = int(at.timestamp())
    signatures = [signature(secret, message_id, timestamp_s, body) for secret in secrets_now]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        **({"webhook-signature": " ".join(signatures)} if signatures else {}),
    }
