from datetime import datetime

from django.db import models

from webapp.config import encryption
from webapp.delivery.choices import FormatName
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.lib.matchers import Matcher, from_json
from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import fleet_wide


@fleet_wide()
class Endpoint(models.Model):
    """Addresses are encrypted: addresses of chat bots contain a password."""

    name = models.CharField(max_length=100, unique=True)
    format = models.CharField(max_length=16, choices=FormatName.choices, default=FormatName.WEIR)
    url_encrypted = models.TextField(blank=True, editable=False)
    url_shown = models.CharField(
        max_length=300, blank=True, editable=False, help_text="as people may see it"
    )
    emails = models.JSONField(default=list, blank=True, help_text="addresses, of format email")
    credential_encrypted = models.TextField(
        blank=True,
        editable=False,
        help_text="key of an alert service, signing key of a bot",
    )
    secret_encrypted = models.TextField(blank=True, editable=False, help_text="signs what is sent")
    previous_secret_encrypted = models.TextField(blank=True, editable=False)
    previous_secret_until = models.DateTimeField(null=True, editable=False)
    matchers = models.JSONField(
        default=list, blank=True, help_text="label, operator, value; all have to match"
    )
    min_severity = models.CharField(
        max_length=16, choices=Severity.choices, default=Severity.WARNING
    )
    owner_email = models.EmailField(
        blank=True, help_text="notified when Weir disables the endpoint"
    )

    enabled = models.BooleanField(default=True)
    disabled_at = models.DateTimeField(null=True, editable=False)
    disabled_reason = MessageField(blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False, help_text="attempts in a row")
    failing_since = models.DateTimeField(null=True, editable=False)
    last_delivered_at = models.DateTimeField(null=True, editable=False)
    paused_until = models.DateTimeField(
        null=True, editable=False, help_text="it asked for a pause (retry-after)"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return encryption.decrypt(self.url_encrypted) if self.url_encrypted else ""

    @property
    def credential(self) -> str:
        return encryption.decrypt(self.credential_encrypted) if self.credential_encrypted else ""

    @property
    def parsed_matchers(self) -> tuple[Matcher, ...]:
        return from_json(self.matchers)

    @property
    def min_rank(self) -> int:
        return SEVERITY_RANK[Severity(self.min_severity)]

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """Signing secrets, newest first."""
        valid = [self.secret_encrypted]
        if self.previous_secret_until is not None and now < self.previous_secret_until:
            valid.append(self.previous_secret_encrypted)
        return tuple(encryption.decrypt(text) for text in valid if text)
