from django.db import models

from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.lib.translations import gettext_lazy as _

UNREACHABLE = "collect.blind"
"""The rule whose alert mutes all others of its cluster: an unseen cluster cannot be judged."""
LEAST_RANK = SEVERITY_RANK[Severity.WARNING]
"""Findings below a warning are information; nobody is notified of them."""


class AlertState(models.TextChoices):
    """``PENDING``: its finding is open, but not yet for as long as the hold time."""

    PENDING = "pending", _("pending")
    FIRING = "firing", _("firing")
    RESOLVED = "resolved", _("resolved")


OPEN = (AlertState.PENDING, AlertState.FIRING)


class Notified(models.TextChoices):
    """The state of an alert in the last notice of its group."""

    NOTHING = "", _("nothing")
    FIRING = "firing", _("that it fires")
    RESOLVED = "resolved", _("that it is resolved")


class Mute(models.TextChoices):
    """Why nobody is notified of an alert. It stays visible."""

    NONE = "", _("not muted")
    UNREACHABLE = "unreachable", _("its cluster is not seen")
    SILENCE = "silence", _("silenced")


class Happened(models.TextChoices):
    """What an entry of an alert's story says."""

    PENDING = "pending", _("seen")
    FIRED = "fired", _("fired")
    FIRED_AGAIN = "fired_again", _("fired again")
    FLAPPING = "flapping", _("began to flap")
    SEVERITY = "severity", _("changed severity")
    CAUSE = "cause", _("has another cause")
    QUIET = "quiet", _("no longer seen")
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
