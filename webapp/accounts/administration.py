"""Who enters the administration, and what they see of it: members of the admin role look at
everything, superusers manage.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from webapp.accounts import devices
from webapp.accounts.roles import Role, role_of
from webapp.accounts.viewers import scope_of


def is_admin(user: Any) -> bool:
    """Of the whole fleet: its lists know no scopes."""
    return role_of(user) is Role.ADMIN and scope_of(user).is_everything


class RoleSite(AdminSite):
    """Its lists hand what an address says to the database as it is, and PostgreSQL takes no NUL."""

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        guarded = super().admin_view(view, cacheable)

        @wraps(guarded)
        def readable(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if any(
                "\x00" in text
                for name in request.GET
                for text in (name, *request.GET.getlist(name))
            ):
                raise BadRequest("The address holds a NUL.")
            if "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
                # Django checks a field by which to look a row up, but not an empty one, and breaks
                # on it.
                raise BadRequest(f"The address names no field in {TO_FIELD_VAR}.")
            return guarded(request, *args, **kwargs)

        return readable

    def has_permission(self, request: HttpRequest) -> bool:
        return (
            super().has_permission(request) and scope_of(request.user).is_everything
        ) or is_admin(request.user)

    @method_decorator(never_cache)
    @method_decorator(login_not_required)
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().login(request, extra_context)
        if request.method == "POST" and request.user.is_authenticated:
            devices.remember(request, response)
        return response

    @method_decorator(never_cache)
    def logout(  # type: ignore[override]  # Django's redirects as well
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        from webapp.accounts.views import SignOut  # its forms need models, which are not loaded yet

        answer: HttpResponse = SignOut.as_view()(request)
        return answer


class LookingBackend(BaseBackend):
    """Lets the role look at every kind of row; whatever changes one needs a permission from
    elsewhere. Signs nobody in.
    """

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return perm.partition(".")[2].startswith("view_") and _looks(user_obj)

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return _looks(user_obj)


def _looks(user: Any) -> bool:
    """Asked for every kind of row of each page, and so looked up once for a request's user, as
    Django does with its own permissions.
    """
    if not hasattr(user, "_looks"):
        user._looks = is_admin(user)
    return bool(user._looks and user.is_active)
