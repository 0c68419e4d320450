"""The keys of an installation in a backup: for its owner alone, and under a passphrase where one is given."""

import base64
import json
import os

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from django.conf import settings

from webapp.backup.archive import BackupRefused

PASSPHRASE = "WEIR_BACKUP_PASSPHRASE"  # noqa: S105 - the name of the variable
LEAST_PASSPHRASE = 12
NAME = "secrets.json"
_COST = {"length": 32, "n": 2**15, "r": 8, "p": 1}
"""https://www.rfc-editor.org/rfc/rfc7914: 32 MiB and a tenth of a second a guess."""


def packed(passphrase: str) -> bytes:
    """Those in use, wherever they come from: without them no stored secret of a cluster or an endpoint can be read."""
    keys = {"secret_key": settings.WEIR.secret_key, "field_keys": ",".join(settings.WEIR.field_keys)}
    if not passphrase:
        return json.dumps({"keys": keys}).encode()
    if len(passphrase) < LEAST_PASSPHRASE:
        raise BackupRefused(f"{PASSPHRASE} must have {LEAST_PASSPHRASE} characters at least.")
    salt = os.urandom(16)
    sealed = _fernet(passphrase, salt).encrypt(json.dumps(keys).encode())
    return json.dumps({"salt": base64.b64encode(salt).decode(), "sealed": sealed.decode()}).encode()


def unpacked(content: bytes, passphrase: str) -> dict[str, str]:
    """``secret_key`` and ``field_keys``. Raises :class:`BackupRefused`."""
    said = json.loads(content)
    if "keys" in said:
        return dict(said["keys"])
    if not passphrase:
        raise BackupRefused(f"The keys in this backup are encrypted: give the passphrase in {PASSPHRASE}.")
    try:
        return dict(json.loads(_fernet(passphrase, base64.b64decode(said["salt"])).decrypt(said["sealed"].encode())))
    except InvalidToken:
        raise BackupRefused(f"The passphrase in {PASSPHRASE} is not that of this backup.") from None


def check_given(keys: dict[str, str]) -> None:
    """Where keys are given by the environment they stay; then one of them has to fit what the backup holds."""
    if os.environ.get("WEIR_FIELD_KEYS") and not set(keys["field_keys"].split(",")) <= set(settings.WEIR.field_keys):
        raise BackupRefused(
            "WEIR_FIELD_KEYS lacks a key that secrets in this backup are encrypted with; add it behind the others, or unset it."
        )


def _fernet(passphrase: str, salt: bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(Scrypt(salt=salt, **_COST).derive(passphrase.encode())))
