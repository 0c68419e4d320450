"""The text of a token, and what is kept of it."""

import hashlib
import secrets

PREFIX = "weir_"
"""Of tokens: it lets secret scanners recognise a leaked one."""

_SHOWN = 7
"""Characters of the random part that lists show."""


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def new_token(kind: str = "") -> tuple[str, dict[str, str]]:
    """A text, which is shown once and never kept, and what is kept of it.

    Tokens that are no person's have their ``kind`` in front.
    """
    text = f"{PREFIX}{kind}{secrets.token_urlsafe(32)}"
    return text, {"prefix": text[: len(PREFIX) + len(kind) + _SHOWN], "digest": digest_of(text)}
