"""The scope of a request is that of its user, narrowed by its token."""

from collections.abc import Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.functional import SimpleLazyObject

from webapp.accounts.models import ApiToken, User
from webapp.accounts.roles import Role, role_of
from webapp.lib import grants, scopes
from webapp.lib.middleware import Middleware, stream_within
from webapp.lib.scopes import EVERYTHING, NOTHING, Deferred, Scope

if TYPE_CHECKING:
    from rest_framework.request import Request


def scope_of(user: Any, token: ApiToken | None = None) -> Scope:
    """``sees`` of a superuser does not count; that of a token does."""
    if not user.is_authenticated or not user.is_active:
        return NOTHING
    limits = [None if user.is_superuser else user.sees, token.sees if token else None]
    parts = [grants.grants_from_json(sees) for sees in limits if sees is not None]
    return Scope(*parts) if parts else EVERYTHING


def is_admin(user: Any) -> bool:
    return role_of(user) is Role.ADMIN and scope_of(user).is_everything


def me(request: "HttpRequest | Request") -> User:
    return cast(User, request.user)


class ScopeOfRequest(Middleware):
    """Comes after the sign-in middleware. A request sees nothing until its user is known."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with scopes.within(Deferred(lambda: scope_of(request.user))):
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse):
                rows = cast(Iterator[bytes], response.streaming_content)
                response.streaming_content = stream_within(
                    partial(scopes.within, scopes.current()), rows
                )
        return response


def context(request: HttpRequest) -> dict[str, Any]:
    role = cache(lambda: _role(request.user) or Role.VIEWER)
    sees_everything = SimpleLazyObject(lambda: scopes.current().is_everything)
    return {
        "may_operate": SimpleLazyObject(lambda: role() >= Role.OPERATOR),
        "may_administer": SimpleLazyObject(
            lambda: role() is Role.ADMIN and scope_of(request.user).is_everything
        ),
        "sees_everything": sees_everything,
    }


def _role(user: Any) -> Role | None:
    try:
        return role_of(user)
    except DatabaseError:
        return None
