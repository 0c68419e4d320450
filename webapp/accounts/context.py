from functools import cache
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from webapp.accounts.roles import Role, role_of
from webapp.accounts.viewers import scope_of


def permissions(request: HttpRequest) -> dict[str, Any]:
    """``may_operate`` and ``may_administer`` in templates, evaluated on first use."""
    role = cache(lambda: _role(request.user) or Role.VIEWER)
    return {
        "may_operate": SimpleLazyObject(lambda: role() >= Role.OPERATOR),
        "may_administer": SimpleLazyObject(
            lambda: role() is Role.ADMIN and scope_of(request.user).is_everything
        ),
    }


def _role(user: Any) -> Role | None:
    """Error pages have the header, too."""
    try:
        return role_of(user)
    except DatabaseError:
        return None
