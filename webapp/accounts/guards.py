"""Views that only some people may use."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext

from webapp.accounts.administration import is_admin
from webapp.accounts.roles import may_operate
from webapp.lib import scopes


def whole_fleet_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """What concerns all clusters at once: who sees some would be shown an empty page, and could not tell why."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        scopes.require_everything("This page")
        return view(request, *args, **kwargs)

    return guarded


def of_whole_fleet(patterns: list[Any]) -> list[Any]:
    """Addresses of nothing else."""
    for pattern in patterns:
        pattern.callback = whole_fleet_only(pattern.callback)
    return patterns


def operators_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Registering clusters makes Weir connect to addresses, so viewers may not."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_operate(request.user):
            raise PermissionDenied(gettext("This needs the operator role; ask an administrator of Weir for it."))
        return view(request, *args, **kwargs)

    return guarded


def administrators_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """People and what they did: for administrators who see every cluster."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_admin(request.user):
            raise PermissionDenied(gettext("This needs the admin role for the whole fleet; ask an administrator of Weir for it."))
        return view(request, *args, **kwargs)

    return guarded
