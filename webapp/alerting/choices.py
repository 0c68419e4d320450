"""Stored values of alerts with their words."""

from django.db import models

from webapp.findings.choices import SEVERITY_RANK, Severity

BLIND = "collect.blind"
"""The rule whose alert mutes all others of its cluster: what is not seen cannot be judged."""
NO_ALERT = frozenset({"pressure.transit"})
"""Rules that are shown below another one's finding, and have no alert of their own."""
LEAST_RANK = SEVERITY_RANK[Severity.WARNING]
"""Findings below a warning are facts that explain; nobody is woken by them."""


class AlertState(models.TextChoices):
    """``PENDING``: seen, and not yet for as long as its hold time asks."""

    PENDING = "pending", "pending"
    FIRING = "firing", "firing"
    RESOLVED = "resolved", "resolved"


OPEN = (AlertState.PENDING, AlertState.FIRING)


class Notified(models.TextChoices):
    """The state of an alert in the last notice of its group."""

    NOTHING = "", "nothing"
    FIRING = "firing", "that it fires"
    RESOLVED = "resolved", "that it is resolved"


class Mute(models.TextChoices):
    """Why nobody is notified of an alert. It stays visible."""

    NONE = "", "not muted"
    BLIND = "blind", "its cluster is not seen"
    MAINTENANCE = "maintenance", "in maintenance"
    SILENCE = "silence", "silenced"


class Happened(models.TextChoices):
    """What the history of an alert is made of."""

    PENDING = "pending", "seen"
    FIRED = "fired", "fired"
    FIRED_AGAIN = "fired_again", "fired again"
    FLAPPING = "flapping", "began to flap"
    SEVERITY = "severity", "changed severity"
    QUIET = "quiet", "no longer seen"
    RESOLVED = "resolved", "resolved"
    REOPENED = "reopened", "opened again"
    ACKNOWLEDGED = "acknowledged", "acknowledged"
    JOINED = "joined", "acknowledged with its incident"
    TAKEN_BACK = "taken_back", "acknowledgement taken back"
    COMMENT = "comment", "commented"
    MUTED = "muted", "muted"
    UNMUTED = "unmuted", "no longer muted"
    TOLD = "told", "notified"
    NOT_TOLD = "not_told", "not notified"
