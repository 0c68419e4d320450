"""Seals a file with a last line, signed with the installation's secret: Weir wrote the file."""

import hmac
import json

from django.conf import settings
from django.utils.crypto import salted_hmac

_SALT = "weir.cleanup.journal"
_START = b'{"seal":'


def with_seal(content: bytes) -> bytes:
    """``content`` must end with a line end."""
    return content + _seal(content, settings.SECRET_KEY) + b"\n"


def has_seal(content: bytes) -> bool:
    return _last_line(content).startswith(_START)


def is_genuine(content: bytes) -> bool:
    """Whether the seal is of the current secret or an earlier one (``SECRET_KEY_FALLBACKS``)."""
    if not has_seal(content):
        return False
    body, seal = without_seal(content), _last_line(content)
    keys: list[str] = [settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS)]
    return any(hmac.compare_digest(seal, _seal(body, key)) for key in keys)


def without_seal(content: bytes) -> bytes:
    return content[: len(content) - len(_last_line(content)) - 1] if has_seal(content) else content


def _seal(body: bytes, key: str) -> bytes:
    seal = salted_hmac(_SALT, body, secret=key, algorithm="sha256").hexdigest()
    return json.dumps({"seal": seal}, separators=(",", ":")).encode()


def _last_line(content: bytes) -> bytes:
    return content.removesuffix(b"\n").rpartition(b"\n")[2]
