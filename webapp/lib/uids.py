import base64
import secrets


def new_uid(prefix: str) -> str:
    """A public id of a row: ``prefix`` and 26 letters and digits, from 128 random bits."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(16)).decode().rstrip('=').lower()}"
