"""Tokens: the text is shown once, its digest is stored."""

import hashlib
import secrets
from datetime import datetime
from typing import Any

from django.db import models

PREFIX = "weir_"
"""Lets secret scanners recognise a leaked token."""

_SHOWN_LETTERS = 7
"""Characters of the random part that lists show."""


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class TokenQuerySet(models.QuerySet[Any]):
    kind = ""

    def create_token(self, **fields: Any) -> tuple[Any, str]:
        text = f"{PREFIX}{self.kind}{secrets.token_urlsafe(32)}"
        prefix = text[: len(PREFIX) + len(self.kind) + _SHOWN_LETTERS]
        return self.create(**fields, prefix=prefix, digest=digest_of(text)), text

    def find(self, text: str) -> Any:
        """Finds a token even if it has expired."""
        return self.select_related().filter(digest=digest_of(text)).first()


class Token(models.Model):
    """Tokens are random and long, so SHA-256 suffices."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=20, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def is_valid(self, at: datetime) -> bool:
        return self.expires_at is None or at < self.expires_at
