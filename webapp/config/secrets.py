"""Keys of this installation that the environment does not set: created once, in
``WEIR_HOME/secrets``.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured


def read_or_create(home: Path, name: str, make: Callable[[], str]) -> str:
    """The content of ``home/secrets/name``, which the first call creates, for the owner only. Of
    several processes the first one to link its file wins, and all read that file.
    """
    folder = home / "secrets"
    path = folder / name
    try:
        if not path.exists():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            draft = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
            draft.touch(mode=0o600)
            draft.write_text(make())
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The file {path} cannot be used ({error.strerror}); check WEIR_HOME and its "
            "permissions."
        ) from error


def new_secret_key() -> str:
    return secrets.token_urlsafe(64)


def new_field_key() -> str:
    return Fernet.generate_key().decode()


def are_field_keys(text: str) -> bool:
    try:
        return bool([Fernet(key.strip()) for key in text.split(",")])
    except (ValueError, TypeError):
        return False
