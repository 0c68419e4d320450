"""What the signed-in user may do, for every page."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from webapp.accounts.administration import is_admin
from webapp.accounts.roles import may_operate


def permissions(request: HttpRequest) -> dict[str, Any]:
    """``may_operate`` and ``may_administer`` in templates; asked for only where a template uses it."""
    return {
        "may_operate": SimpleLazyObject(lambda: may_operate(request.user)),
        "may_administer": SimpleLazyObject(lambda: is_admin(request.user)),
    }
