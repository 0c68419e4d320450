"""Views that only some people may use."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from webapp.accounts.roles import may_operate


def operators_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Registering clusters makes Weir connect to addresses, so viewers may not."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_operate(request.user):
            raise PermissionDenied("This needs the operator role; ask an administrator of Weir for it.")
        return view(request, *args, **kwargs)

    return guarded
