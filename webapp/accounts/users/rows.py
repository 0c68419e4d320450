from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from webapp.accounts.models import User
from webapp.accounts.roles import Role, role_in
from webapp.lib import grants
from webapp.lib.badges import Badge

OPEN = Badge("open", "●", "done")
CLOSED = Badge("closed", "■", "unknown")


@dataclass(frozen=True)
class Person:
    """``grants``: one per line; None: everything."""

    user: User
    role: Role
    grants: list[str] | None
    tokens: int

    @property
    def badge(self) -> Badge:
        return OPEN if self.user.is_active else CLOSED


def listed() -> QuerySet[User]:
    return User.objects.annotate(token_count=Count("api_tokens", distinct=True)).prefetch_related(
        "groups"
    )


def person(user: Any) -> Person:
    """``user``: of :func:`listed`."""
    role = role_in({group.name for group in user.groups.all()}, user.is_superuser)
    return Person(user, role, seen(user), user.token_count)


def seen(user: User) -> list[str] | None:
    if user.is_superuser or user.sees is None:
        return None
    return grants.lines(user.sees)
