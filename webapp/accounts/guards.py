from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from webapp.accounts.roles import may_operate
from webapp.accounts.viewers import is_admin
from webapp.lib import scopes
from webapp.lib.translations import gettext_lazy as _

View = Callable[..., HttpResponseBase]


def whole_fleet_only(view: View) -> View:
    """People who see only some clusters get an explanation instead of an empty page."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        scopes.require_everything("This page")
        return view(request, *args, **kwargs)

    return guarded


def fleet_wide_only(patterns: list[Any]) -> list[Any]:
    for pattern in patterns:
        pattern.callback = whole_fleet_only(pattern.callback)
    return patterns


def _only(allows: Callable[[Any], bool], why: str) -> Callable[[View], View]:
    def decorated(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not allows(request.user):
                raise PermissionDenied(str(why))
            return view(request, *args, **kwargs)

        return guarded

    return decorated


operators_only = _only(
    may_operate,
    _("This needs the operator role; ask an administrator of Weir for it."),
)
"""Weir connects to the addresses of a registered cluster, so viewers may not register any."""

administrators_only = _only(
    is_admin,
    _("This needs the admin role for the whole fleet; ask an administrator of Weir for it."),
)
