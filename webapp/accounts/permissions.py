"""What API clients may do."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from webapp.accounts.audit import entries
from webapp.accounts.models import ApiToken
from webapp.accounts.roles import may_operate, role_of

if TYPE_CHECKING:
    # rest_framework.views itself loads this class, by its name in the settings.
    from rest_framework.views import APIView


class ScopedAccess(BasePermission):
    """Reading: anybody signed in. Writing: operators, and by token only with the scope to write, or that to approve, which includes it."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if request.method in SAFE_METHODS:
            return role_of(request.user) is not None
        may_write = request.auth.scope in (ApiToken.Scope.WRITE, ApiToken.Scope.APPROVE) if isinstance(request.auth, ApiToken) else True
        return noted(request, may_write and may_operate(request.user))


def noted(request: Request, allowed: bool) -> bool:
    """``allowed``; the audit log has an entry of the request, of what it says only where it was allowed. For every permission to write."""
    if request.user.is_authenticated:
        told = request.data if allowed and isinstance(request.data, Mapping) else {}
        entries.begin(request._request, request.user.get_username(), told, request.auth if isinstance(request.auth, ApiToken) else None)
    return allowed
