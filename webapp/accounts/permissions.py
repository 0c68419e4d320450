from typing import TYPE_CHECKING

from rest_framework.exceptions import Throttled
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Empty, Request

from webapp.accounts import rate_limit
from webapp.accounts.audit import entries
from webapp.accounts.models import ApiToken
from webapp.accounts.roles import may_operate, role_of

if TYPE_CHECKING:
    # rest_framework.views itself loads this class, by its name in the settings.
    from rest_framework.views import APIView


class ScopedAccess(BasePermission):
    """Everybody may read. Operators may write, with a token only if its scope is write or approve."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if request.method in SAFE_METHODS:
            return audited(request, role_of(request.user) is not None)
        may_write = (
            request.auth.scope in (ApiToken.Scope.WRITE, ApiToken.Scope.APPROVE)
            if isinstance(request.auth, ApiToken)
            else True
        )
        return audited(request, may_write and may_operate(request.user))


def check_rate(request: Request) -> None:
    token = request.auth if isinstance(request.auth, ApiToken) else None
    if wait_s := rate_limit.seconds_to_wait(request.user.pk or 0, token):
        raise Throttled(wait_s)


def audited(request: Request, allowed: bool) -> bool:
    """Every permission of the API ends with this call: it counts the request, begins an audit entry
    for a write, and returns ``allowed``. Raises ``Throttled`` (429 with ``Retry-After``).
    """
    if not request.user.is_authenticated:
        return False
    check_rate(request)
    if request.method not in SAFE_METHODS:
        entries.begin(
            request._request,
            request.user.get_username(),
            {},
            request.auth if isinstance(request.auth, ApiToken) else None,
        )
        entries.read_at_end(
            request._request,
            lambda: request.data if vars(request)["_full_data"] is not Empty else {},
        )
    return allowed
