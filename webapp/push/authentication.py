"""Authentication of log shippers: ``Authorization: Bearer weir_push_…``, or basic authentication
with the token as password.
"""

import base64
import binascii

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from webapp.lib import scopes
from webapp.lib.scopes import OfClusters
from webapp.push.models import PushToken


class PushTokenAuthentication(BaseAuthentication):
    """Sets ``request.auth`` to the token; there is no user."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, PushToken] | None:
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        match scheme.lower():
            case "bearer":
                text = credentials.strip()
            case "basic":
                text = _password(credentials.strip())
            case _:
                return None
        with scopes.everything():  # the scope follows from the token
            token = PushToken.objects.find(text)
        if token is None or not token.is_valid(timezone.now()):
            raise exceptions.AuthenticationFailed(
                "This token is unknown, expired or revoked; it must be one to push logs."
            )
        scopes.take(OfClusters([token.cluster.name]))
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class FromShipper(BasePermission):
    message = "Only a token to push logs may do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, PushToken)


def _password(credentials: str) -> str:
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
