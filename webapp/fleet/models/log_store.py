from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext

from ingest.sources import Auth, LogStoreSource
from webapp.config import encryption
from webapp.fleet.badges import LOG_STORE_BADGES
from webapp.fleet.choices import LogStoreKind, LogStoreSignIn, LogStoreState
from webapp.fleet.freshness import silence_allowed
from webapp.fleet.validators import is_index_pattern, is_log_selector, is_tenant, is_web_url
from webapp.lib.badges import Badge
from webapp.lib.messages.fields import MessageField
from webapp.lib.translations import gettext_lazy as _

MOST_BACKFILL_H = 720
"""Loki's default limit of a range (``max_query_length``)."""
DEFAULT_BACKFILL_H = 24


class LogStoreFields(models.Model):
    log_store_kind = models.CharField(
        max_length=16, blank=True, choices=LogStoreKind.choices, default=LogStoreKind.NONE
    )
    log_store_url = models.CharField(
        max_length=500, blank=True, validators=[is_web_url], help_text=_("such as http://loki:3100")
    )
    log_store_query = models.CharField(
        max_length=500,
        blank=True,
        help_text=_(
            'which lines are this cluster\'s: {namespace="flink"} of Loki, or a Lucene query string'
        ),
    )
    log_store_index = models.CharField(
        max_length=300,
        blank=True,
        validators=[is_index_pattern],
        help_text=_("of Elasticsearch or OpenSearch, such as logs-flink-*"),
    )
    log_store_tenant = models.CharField(
        max_length=150, blank=True, validators=[is_tenant], help_text=_("of Loki (X-Scope-OrgID)")
    )
    log_store_auth_scheme = models.CharField(
        max_length=8, blank=True, choices=LogStoreSignIn.choices, default=LogStoreSignIn.NONE
    )
    log_store_auth_user = models.CharField(max_length=200, blank=True)
    log_store_secret_encrypted = models.TextField(blank=True, editable=False)
    log_store_backfill_h = models.PositiveIntegerField(
        default=DEFAULT_BACKFILL_H,
        validators=[MaxValueValidator(MOST_BACKFILL_H)],
        help_text=_("hours of history that are read at first"),
    )

    log_store_read_from = models.DateTimeField(
        null=True, editable=False, help_text="the oldest line that its store of logs is read from"
    )
    log_store_read_to = models.DateTimeField(
        null=True, editable=False, help_text="everything before was read from its store of logs"
    )
    log_store_error = MessageField(
        null=True,
        editable=False,
        help_text="why its store of logs could not be read in the last cycle",
    )

    class Meta:
        abstract = True

    def check_log_store(self) -> None:
        kind = self.log_store_kind
        if not kind:
            return
        if not self.log_store_url:
            raise ValidationError({"log_store_url": gettext("Give the address of the store.")})
        if kind == LogStoreKind.LOKI:
            try:
                is_log_selector(self.log_store_query)
            except ValidationError as error:
                raise ValidationError({"log_store_query": error.messages}) from error
        elif not self.log_store_index:
            raise ValidationError(
                {
                    "log_store_index": gettext(
                        "Give the index that holds the logs, such as logs-flink-*."
                    )
                }
            )
        if self.log_store_auth_scheme == LogStoreSignIn.BASIC and not self.log_store_auth_user:
            raise ValidationError({"log_store_auth_user": gettext("This sign-in needs a user.")})

    def log_store_source(self, spool: str) -> LogStoreSource | None:
        """``spool``: folder for the lines that are read."""
        if not self.log_store_kind:
            return None
        return LogStoreSource(
            self.log_store_kind,  # type: ignore[arg-type]  # one of the same choices
            self.log_store_url,
            query=self.log_store_query,
            index=self.log_store_index,
            tenant=self.log_store_tenant,
            auth=auth_of(
                self.log_store_auth_scheme,
                self.log_store_auth_user,
                self.log_store_secret_encrypted,
            ),
            spool=spool,
            backfill_s=self.log_store_backfill_h * 3600,
        )

    def log_store_at(self, now: datetime) -> LogStoreState:
        if self.log_store_read_to is None or self.log_store_read_from is None:
            return LogStoreState.FAILING if self.log_store_error else LogStoreState.NEW
        if self.log_store_error:
            return LogStoreState.FAILING
        is_behind = self.log_store_read_to < now - silence_allowed()
        return LogStoreState.BEHIND if is_behind else LogStoreState.READ

    @property
    def log_store_badge(self) -> Badge:
        return LOG_STORE_BADGES[self.log_store_at(timezone.now())]


def auth_of(scheme: str, user: str, encrypted: str) -> Auth | None:
    if not scheme:
        return None
    # the scheme is one of the same choices
    return Auth(scheme, encryption.decrypt(encrypted) if encrypted else "", user)  # type: ignore[arg-type]
