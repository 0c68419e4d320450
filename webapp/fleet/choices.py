from enum import StrEnum

from django.db import models

from webapp.lib.translations import gettext_lazy as _


class ClusterKind(models.TextChoices):
    LIVE = "live", _("live")
    RECORDING = "recording", _("recording")


class AuthScheme(models.TextChoices):
    NONE = "", _("none")
    BASIC = "basic", _("user and password")
    BEARER = "bearer", _("bearer token")
    KERBEROS = "kerberos", _("Kerberos ticket")


class LogStoreKind(models.TextChoices):
    NONE = "", _("none")
    LOKI = "loki", "Loki"
    ELASTICSEARCH = "elasticsearch", "Elasticsearch"
    OPENSEARCH = "opensearch", "OpenSearch"


class LogStoreSignIn(models.TextChoices):
    NONE = "", _("none")
    BASIC = "basic", _("user and password")
    BEARER = "bearer", _("bearer token")
    API_KEY = "api_key", _("API key")


class LogStoreState(StrEnum):
    NEW = "new"
    READ = "read"
    BEHIND = "behind"
    FAILING = "failing"


class OperatorState(models.TextChoices):
    NONE = "", _("none")
    BROKEN = "broken", _("not running")
    SUSPENDED = "suspended", _("suspended")


class Visibility(StrEnum):
    LIVE = "live"
    UNREACHABLE = "unreachable"
    RECORDING = "recording"
    NEW = "new"
    PAUSED = "paused"
    LEFT = "left"
    BROKEN = "broken"
    SUSPENDED = "suspended"


UNKNOWN_STATUS = "UNKNOWN"
"""A job that has not ended as far as Weir knows, and whose state cannot be read now."""

UNWATCHED_STATUS = "UNWATCHED"
"""Status of a job whose cluster was removed before the job ended."""


class HealthState(models.TextChoices):
    JUDGED = "judged", _("judged")
    UNKNOWN = "unknown", _("unknown")
    ENDED = "ended", _("ended")
