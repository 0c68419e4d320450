"""Making and finding API tokens."""

import hashlib
import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

if TYPE_CHECKING:
    from webapp.accounts.models import ApiToken, User

PREFIX = "weir_"
"""Of tokens: it lets secret scanners recognise a leaked one."""

_SHOWN = 7
"""Characters of the random part that lists show."""


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def new_token(kind: str = "") -> tuple[str, dict[str, str]]:
    """A text, which is shown once and never kept, and what is kept of it. Tokens that are no person's have their ``kind`` in front."""
    text = f"{PREFIX}{kind}{secrets.token_urlsafe(32)}"
    return text, {"prefix": text[: len(PREFIX) + len(kind) + _SHOWN], "digest": digest_of(text)}


class ApiTokenQuerySet(QuerySet["ApiToken"]):
    def issue(
        self, user: "User", name: str, scope: str = "read", expires_at: datetime | None = None, sees: Any = None
    ) -> "tuple[ApiToken, str]":
        """A new token and its text, which is shown once and never kept. ``sees``: grants that narrow what its user sees."""
        text, kept = new_token()
        return self.create(user=user, name=name, scope=scope, expires_at=expires_at, sees=sees, **kept), text

    def find(self, text: str) -> "ApiToken | None":
        """The token of this text, valid or not."""
        return self.select_related("user").filter(digest=digest_of(text)).first()
