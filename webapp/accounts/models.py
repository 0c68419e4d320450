"""People, their API tokens, and failed sign-ins."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models

from webapp.accounts.querysets import ApiTokenQuerySet


class User(AbstractUser):
    """A person; what they may do follows from their group (:mod:`webapp.accounts.roles`), what they see from ``sees``."""

    sees = models.JSONField(null=True, blank=True, editable=False, help_text="grants (webapp.lib.grants); null: every cluster")


class ApiToken(models.Model):
    """A key for machines. Only its SHA-256 is kept: the token itself is random and long, so no slow hash is needed."""

    class Scope(models.TextChoices):
        READ = "read", "read"
        WRITE = "write", "read and write"
        APPROVE = "approve", "read, write and approve clean-up plans"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)
    sees = models.JSONField(null=True, blank=True, editable=False, help_text="narrows what its user sees; null: not at all")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def is_valid(self, at: datetime) -> bool:
        return self.user.is_active and (self.expires_at is None or at < self.expires_at)


class SignInFailures(models.Model):
    """Failed sign-ins of one subject of :mod:`webapp.accounts.throttle` within the current window."""

    subject = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    window_start = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["window_start"], name="sign_in_failures_age")]

    def __str__(self) -> str:
        return f"{self.count} failures since {self.window_start:%H:%M:%S}"
