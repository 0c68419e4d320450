"""Making and finding API tokens."""

import hashlib
import secrets
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import QuerySet

if TYPE_CHECKING:
    from webapp.accounts.models import ApiToken, User

PREFIX = "weir_"
"""Of tokens: it lets secret scanners recognise a leaked one."""


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class ApiTokenQuerySet(QuerySet["ApiToken"]):
    def issue(self, user: "User", name: str, scope: str = "read", expires_at: datetime | None = None) -> "tuple[ApiToken, str]":
        """A new token and its text, which is shown once and never kept."""
        text = PREFIX + secrets.token_urlsafe(32)
        token = self.create(user=user, name=name, scope=scope, expires_at=expires_at, prefix=text[:12], digest=digest_of(text))
        return token, text

    def find(self, text: str) -> "ApiToken | None":
        """The token of this text, valid or not."""
        return self.select_related("user").filter(digest=digest_of(text)).first()
