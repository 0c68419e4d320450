"""Sign-in of API clients by token: ``Authorization: Bearer weir_…``."""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework import authentication, exceptions

from webapp.accounts.models import ApiToken
from webapp.accounts.viewers import scope_of
from webapp.lib import scopes

if TYPE_CHECKING:
    from webapp.accounts.models import User

LAST_USED_PRECISION = timedelta(minutes=5)
"""A later use within this time is not stored, so that a busy client does not write at each read."""


class TokenAuthentication(authentication.TokenAuthentication):
    """Sets ``request.auth`` to the token, whose scope
    :class:`webapp.accounts.permissions.ScopedAccess` reads.
    """

    keyword = "Bearer"

    def authenticate_credentials(self, key: str) -> "tuple[User, ApiToken]":
        now = timezone.now()
        token = ApiToken.objects.find(key)
        if token is None or not token.is_valid(now):
            raise exceptions.AuthenticationFailed("This token is unknown, expired or revoked.")
        is_due = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_PRECISION)
        # A database that takes no writes still answers reads.
        with suppress(DatabaseError), transaction.atomic():
            ApiToken.objects.filter(is_due, pk=token.pk).update(last_used_at=now)
        scopes.take(scope_of(token.user, token))
        return token.user, token
