"""Stored values with their words: one class per choice."""

from django.db import models


class ClusterKind(models.TextChoices):
    LIVE = "live", "live"
    RECORDING = "recording", "recording"


class AuthScheme(models.TextChoices):
    NONE = "", "none"
    BASIC = "basic", "user and password"
    BEARER = "bearer", "bearer token"
    KERBEROS = "kerberos", "Kerberos ticket"


class LogStoreKind(models.TextChoices):
    NONE = "", "none"
    LOKI = "loki", "Loki"
    ELASTICSEARCH = "elasticsearch", "Elasticsearch"
    OPENSEARCH = "opensearch", "OpenSearch"


class LogStoreSignIn(models.TextChoices):
    NONE = "", "none"
    BASIC = "basic", "user and password"
    BEARER = "bearer", "bearer token"
    API_KEY = "api_key", "API key"


class LogStoreState(models.TextChoices):
    """Of the store that holds a cluster's logs."""

    NEW = "new", "not read yet"
    READ = "read", "read"
    BEHIND = "behind", "behind"
    FAILING = "failing", "cannot be read"


class OperatorState(models.TextChoices):
    """What the operator that deploys a cluster says of its JobManager, where there is one and it is not simply up or on its way."""

    NONE = "", "none"
    BROKEN = "broken", "not running"
    SUSPENDED = "suspended", "suspended"


class Visibility(models.TextChoices):
    """What Weir can say about a cluster now."""

    LIVE = "live", "seen"
    BLIND = "blind", "not seen"
    RECORDING = "recording", "recording"
    NEW = "new", "not asked yet"
    PAUSED = "paused", "paused"
    LEFT = "left", "left its source"
    BROKEN = "broken", "not running"
    SUSPENDED = "suspended", "suspended"


UNKNOWN_STATUS = "UNKNOWN"
"""Shown for a job that is not known to have ended, and of which nobody can know the state now."""

UNWATCHED_STATUS = "UNWATCHED"
"""Shown for a job that was not known to have ended when its cluster was removed: nobody asks about it any more."""


class HealthState(models.TextChoices):
    """Whether the health of a job is a number, and if not, why."""

    JUDGED = "judged", "judged"
    UNKNOWN = "unknown", "unknown"
    ENDED = "ended", "ended"
