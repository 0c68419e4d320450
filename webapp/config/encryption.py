"""Encryption of single columns. Keys can be replaced: the first one encrypts, all decrypt."""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def encrypt(text: str) -> str:
    return _keys().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    try:
        return _keys().decrypt(token.encode()).decode()
    except InvalidToken:
        raise ImproperlyConfigured(
            "A stored secret fits none of the keys in WEIR_FIELD_KEYS; give the old key as well, "
            "or enter the secret again."
        ) from None


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.WEIR.field_keys])
