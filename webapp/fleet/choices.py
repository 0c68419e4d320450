"""Stored values with their words: one class per choice."""

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
    """What the operator that deploys a cluster says of its JobManager, unless that is up or
    starting.
    """

    NONE = "", _("none")
    BROKEN = "broken", _("not running")
    SUSPENDED = "suspended", _("suspended")


class Visibility(models.TextChoices):
    """What Weir can see of a cluster now."""

    LIVE = "live", _("seen")
    UNREACHABLE = "unreachable", _("not seen")
    RECORDING = "recording", _("recording")
    NEW = "new", _("not asked yet")
    PAUSED = "paused", _("paused")
    LEFT = "left", _("left its source")
    BROKEN = "broken", _("not running")
    SUSPENDED = "suspended", _("suspended")


UNKNOWN_STATUS = "UNKNOWN"
"""Shown for a job that is not known to have ended, and of which nobody can know the state now."""

UNWATCHED_STATUS = "UNWATCHED"
"""Shown for a job that was not known to have ended when its cluster was removed: nobody asks about
it any more.
"""


class HealthState(models.TextChoices):
    """Why the health of a job is no number, if so."""

    JUDGED = "judged", _("judged")
    UNKNOWN = "unknown", _("unknown")
    ENDED = "ended", _("ended")
