"""What people may do: three groups, each including the ones before it."""

from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser, AnonymousUser


class Role(IntEnum):
    """Viewer sees all pages; operator registers clusters and starts runs; admin manages people and
    tokens.
    """

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def group(self) -> str:
        return self.name.lower()


GROUPS = tuple(role.group for role in Role)


def role_in(groups: set[str], is_superuser: bool) -> Role:
    """The highest; without a group: viewer. Ignores whether the account is closed."""
    if is_superuser:
        return Role.ADMIN
    return max((role for role in Role if role.group in groups), default=Role.VIEWER)


def role_of(user: "AbstractUser | AnonymousUser | Any") -> Role | None:
    """None unless active."""
    if not user.is_authenticated or not user.is_active:
        return None
    if user.is_superuser:
        return Role.ADMIN
    return role_in(set(user.groups.values_list("name", flat=True)), is_superuser=False)


def may_operate(user: "AbstractUser | AnonymousUser | Any") -> bool:
    role = role_of(user)
    return role is not None and role >= Role.OPERATOR
