import unicodedata
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, Group
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from webapp.accounts.kept_tokens import Token, TokenQuerySet
from webapp.accounts.look_alikes import skeletons, stray_letter
from webapp.accounts.roles import Role
from webapp.lib import grants
from webapp.lib.badges import Badge
from webapp.lib.translations import gettext_lazy as _


class User(AbstractUser):
    """The role follows from the group (:mod:`webapp.accounts.roles`), the scope from ``sees``."""

    sees = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text="grants (webapp.lib.grants); null: every cluster",
    )
    oidc_subject = models.CharField(
        max_length=255,
        null=True,
        unique=True,
        editable=False,
        help_text="issuer and subject; null: a local account",
    )
    language = models.CharField(
        max_length=16,
        blank=True,
        editable=False,
        help_text="a code of settings.LANGUAGES; empty: as the browser asks",
    )
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        editable=False,
        help_text="UTC, local (that of the browser) or an IANA name; empty: not chosen yet",
    )
    session_epoch = models.PositiveIntegerField(
        default=0, editable=False, help_text="raised to end all sessions"
    )

    @property
    def role(self) -> Role:
        """The highest role of the user's groups; viewer without a group."""
        if self.is_superuser:
            return Role.ADMIN
        names = {group.name for group in self.groups.all()}
        return max((role for role in Role if role.group in names), default=Role.VIEWER)

    @property
    def grants(self) -> list[str] | None:
        """One text per grant; None if the user sees everything."""
        return None if self.is_superuser or self.sees is None else grants.lines(self.sees)

    @property
    def badge(self) -> Badge:
        return Badge("open", "●", "done") if self.is_active else Badge("closed", "■", "unknown")

    def clean(self) -> None:
        """New names use one script and look like no other name; existing names stay."""
        super().clean()
        if not self.username or User.objects.filter(username=self.username).exists():
            return  # the column itself refuses an empty name and the name of another user
        if letter := stray_letter(self.username):
            values = {"letter": letter, "name": unicodedata.name(letter, "a letter without a name")}
            refusal = (
                gettext(
                    "%(letter)s is %(name)s. Write the name in one script that is in common use."
                )
                % values
            )
            raise ValidationError({"username": refusal})
        own_skeletons = skeletons(self.username)
        names = User.objects.exclude(pk=self.pk).values_list("username", flat=True)
        if look_alike := next((name for name in names if own_skeletons & skeletons(name)), None):
            refusal = gettext(
                "It looks like the name %(username)s, which somebody has: capitals and small "
                "letters, 0 and o, 1, i and l, rn and m, "
                "vv and w count as the same. Choose another."
            )
            raise ValidationError({"username": refusal % {"username": look_alike}})

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A lock lets only one user be created at a time. Raises ``ValidationError``."""
        if not self._state.adding:
            super().save(*args, **kwargs)
            return
        with transaction.atomic():
            Group.objects.select_for_update().filter(name=Role.ADMIN.group).first()
            self.clean()
            super().save(*args, **kwargs)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Django calls this for the current and for replaced secret keys."""
        # not in Django's stubs
        password_hash: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        if not self.session_epoch:
            return password_hash
        return salted_hmac(
            "weir.accounts.sessions",
            f"{password_hash} {self.session_epoch}",
            secret=secret,
            algorithm="sha256",
        ).hexdigest()


class ApiTokenQuerySet(TokenQuerySet):
    def issue(
        self,
        user: "User",
        name: str,
        scope: str = "read",
        expires_at: datetime | None = None,
        sees: Any = None,
    ) -> "tuple[ApiToken, str]":
        """``sees``: grants that narrow the user's scope."""
        return self.create_token(
            user=user, name=name, scope=scope, expires_at=expires_at, sees=sees
        )


class ApiToken(Token):
    class Scope(models.TextChoices):
        READ = "read", _("read")
        WRITE = "write", _("read and write")
        APPROVE = "approve", _("read, write and approve clean-up plans")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.READ)
    sees = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text="narrows what its user sees; null: not at all",
    )

    objects: ClassVar = ApiTokenQuerySet.as_manager()

    @property
    def narrowed(self) -> list[str]:
        """One text per grant; empty if the token sees all that its user sees."""
        return [] if self.sees is None else grants.lines(self.sees) or ["no cluster"]

    def is_valid(self, at: datetime) -> bool:
        return self.user.is_active and super().is_valid(at)


class SignInFailures(models.Model):
    """Failed sign-ins of one subject of :mod:`webapp.accounts.throttle` in the current window."""

    subject = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    window_start = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["window_start"], name="sign_in_failures_age")]

    def __str__(self) -> str:
        return f"{self.count} failures since {self.window_start:%H:%M:%S}"


KEPT_AT_LEAST = timedelta(days=90)


class NeverChanged(Exception):
    """Code tried to change the audit log."""


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    def end(
        self, pk: int, details: dict[str, str] | None = None, subject: str = "", **ending: Any
    ) -> None:
        rows = self.filter(pk=pk, outcome="")
        if subject:
            models.QuerySet.update(rows.filter(subject=""), subject=subject)
        models.QuerySet.update(rows, **ending, **({"details": details} if details else {}))

    def update(self, **changes: Any) -> int:
        raise NeverChanged("An entry of the audit log is never changed.")

    def delete(self) -> tuple[int, dict[str, int]]:
        if self.filter(at__gte=timezone.now() - KEPT_AT_LEAST).exists():
            raise NeverChanged("An entry of the audit log is removed by its age alone.")
        return super().delete()


class AuditEntry(models.Model):
    """Stored once, and gets its outcome once; only age removes it. ``outcome`` is empty if Weir
    ended before it answered: the write may have been done. Texts instead of keys, so that an entry
    outlives its person, token and subject.
    """

    class Outcome(models.TextChoices):
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")
        UNKNOWN = "", _("unknown")

    class Door(models.TextChoices):
        PAGE = "page", _("page")
        API = "api", "API"

    at = models.DateTimeField()
    action = models.CharField(max_length=40, help_text="a code of webapp.accounts.audit.actions")
    door = models.CharField(max_length=16, choices=Door.choices)
    person = models.CharField(max_length=150, blank=True, help_text="user name")
    token = models.CharField(
        max_length=120, blank=True, help_text="name and first letters of the API token"
    )
    subject = models.CharField(max_length=300, blank=True, help_text="what it was done to")
    details = models.JSONField(
        default=dict, help_text="what was entered, of the fields that may be shown"
    )
    from_address = models.CharField(max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices, blank=True)
    status = models.PositiveSmallIntegerField(null=True, help_text="of HTTP")

    objects: ClassVar = AuditEntryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["at"], name="audit_entry_at"),
            models.Index(fields=["person", "-id"], name="audit_entry_person"),
            models.Index(fields=["action", "-id"], name="audit_entry_action"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.person or 'nobody known'} at {self.at:%Y-%m-%d %H:%M:%S}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise NeverChanged("An entry of the audit log is never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise NeverChanged("An entry of the audit log is removed by its age alone.")
