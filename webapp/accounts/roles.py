"""Three roles, each with the rights of the roles before it."""

from enum import IntEnum
from typing import Any


class Role(IntEnum):
    """Viewers see all pages; operators register clusters and start runs; admins manage people and
    tokens.
    """

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def group(self) -> str:
        return self.name.lower()


GROUPS = tuple(role.group for role in Role)


def role_of(user: Any) -> Role | None:
    """None if the user is not active."""
    return user.role if user.is_authenticated and user.is_active else None


def may_operate(user: Any) -> bool:
    role = role_of(user)
    return role is not None and role >= Role.OPERATOR
