from dataclasses import dataclass

from django.db.models import QuerySet

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

    @property
    def badge(self) -> Badge:
        return OPEN if self.user.is_active else CLOSED


def listed() -> QuerySet[User]:
    return User.objects.prefetch_related("groups")


def person(user: User) -> Person:
    """``user``: of :func:`listed`."""
    role = role_in({group.name for group in user.groups.all()}, user.is_superuser)
    return Person(user, role, seen(user))


def seen(user: User) -> list[str] | None:
    if user.is_superuser or user.sees is None:
        return None
    return grants.lines(user.sees)
