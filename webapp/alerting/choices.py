from django.db import models

from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.lib.translations import gettext_lazy as _

UNREACHABLE = "collect.blind"
"""The alert of this rule mutes the other alerts of the cluster."""
LEAST_RANK = SEVERITY_RANK[Severity.WARNING]


class AlertState(models.TextChoices):
    """``PENDING``: seen, but not yet for the hold time."""

    PENDING = "pending", _("pending")
    FIRING = "firing", _("firing")
    RESOLVED = "resolved", _("resolved")


OPEN = (AlertState.PENDING, AlertState.FIRING)


class Notified(models.TextChoices):
    NOTHING = "", _("nothing")
    FIRING = "firing", _("that it fires")
    RESOLVED = "resolved", _("that it is resolved")


class Mute(models.TextChoices):
    NONE = "", _("not muted")
    UNREACHABLE = "unreachable", _("its cluster is not seen")
    SILENCE = "silence", _("silenced")


class EventKind(models.TextChoices):
    PENDING = "pending", _("seen")
    FIRED = "fired", _("fired")
    FIRED_AGAIN = "fired_again", _("fired again")
    FLAPPING = "flapping", _("began to flap")
    SEVERITY = "severity", _("changed severity")
    CAUSE = "cause", _("has another cause")
    QUIET = "quiet", _("no longer seen")
    SEEN_AGAIN = "seen_again", _("seen again")
    RESOLVED = "resolved", _("resolved")
    REOPENED = "reopened", _("opened again")
    ACKNOWLEDGED = "acknowledged", _("acknowledged")
    JOINED = "joined", _("acknowledged with its incident")
    TAKEN_BACK = "taken_back", _("acknowledgement taken back")
    ASSIGNED = "assigned", _("assigned")
    RELEASED = "released", _("owner taken off")
    MUTED = "muted", _("muted")
    UNMUTED = "unmuted", _("no longer muted")
    NOTIFIED = "notified", _("notified")
    NOT_NOTIFIED = "not_notified", _("not notified")
