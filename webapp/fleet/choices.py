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


class LogStoreState(models.TextChoices):
    NEW = "new", _("not read yet")
    READ = "read", _("read")
    BEHIND = "behind", _("behind")
    FAILING = "failing", _("cannot be read")


class OperatorState(models.TextChoices):
    """As the deploying operator reports it."""

    NONE = "", _("none")
    BROKEN = "broken", _("not running")
    SUSPENDED = "suspended", _("suspended")


class Visibility(models.TextChoices):
    LIVE = "live", _("seen")
    UNREACHABLE = "unreachable", _("not seen")
    RECORDING = "recording", _("recording")
    NEW = "new", _("not asked yet")
    PAUSED = "paused", _("paused")
    LEFT = "left", _("left its source")
    BROKEN = "broken", _("not running")
    SUSPENDED = "suspended", _("suspended")


UNKNOWN_STATUS = "UNKNOWN"
"""Of a job that is not known to have ended, and whose state nobody can know now."""

UNWATCHED_STATUS = "UNWATCHED"
"""Of such a job whose cluster was removed."""


class HealthState(models.TextChoices):
    JUDGED = "judged", _("judged")
    UNKNOWN = "unknown", _("unknown")
    ENDED = "ended", _("ended")
