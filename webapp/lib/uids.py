"""Public ids of rows, random, with the kind of row as prefix."""

import base64
import secrets


def new_uid(prefix: str) -> str:
    """``prefix`` and 26 letters and digits: ``msg_4w2…``, from 128 random bits."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(16)).decode().rstrip('=').lower()}"
