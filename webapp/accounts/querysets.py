"""Making and finding API tokens; writing the audit log."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.utils import timezone

if TYPE_CHECKING:
    # named in quotes below
    from webapp.accounts.models import ApiToken, AuditEntry, User  # noqa: F401

KEPT_AT_LEAST = timedelta(days=90)
"""Of entries of the audit log, whatever else is set."""

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


class ApiTokenQuerySet(QuerySet["ApiToken"]):
    def issue(
        self,
        user: "User",
        name: str,
        scope: str = "read",
        expires_at: datetime | None = None,
        sees: Any = None,
    ) -> "tuple[ApiToken, str]":
        """A new token and its text, which is shown once and never kept.

        ``sees``: grants that narrow what its user sees.
        """
        text, kept = new_token()
        return self.create(
            user=user, name=name, scope=scope, expires_at=expires_at, sees=sees, **kept
        ), text

    def find(self, text: str) -> "ApiToken | None":
        """The token of this text, valid or not."""
        return self.select_related("user").filter(digest=digest_of(text)).first()


class NeverChanged(Exception):
    """Somebody tried to change the audit log, which is a bug."""


class AuditEntryQuerySet(QuerySet["AuditEntry"]):
    """Only added to: an entry is told its outcome once, and goes when it is old."""

    def end(
        self, pk: int, details: dict[str, str] | None = None, subject: str = "", **ending: Any
    ) -> None:
        """How it ended, where that is not known yet; and what was entered, where that came to be
        known only now.
        """
        rows = self.filter(pk=pk, outcome="")
        if subject:
            QuerySet.update(rows.filter(subject=""), subject=subject)
        QuerySet.update(rows, **ending, **({"details": details} if details else {}))

    def update(self, **changes: Any) -> int:
        raise NeverChanged("An entry of the audit log is never changed.")

    def delete(self) -> tuple[int, dict[str, int]]:
        if self.filter(at__gte=timezone.now() - KEPT_AT_LEAST).exists():
            raise NeverChanged("An entry of the audit log is removed by its age alone.")
        return super().delete()
