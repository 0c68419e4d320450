"""Stored values of clean-up plans with their words."""

from django.db import models

from webapp.lib.translations import gettext_lazy as _


class PlanState(models.TextChoices):
    """Where a clean-up plan stands.

    Files are only ever moved in ``applying``, put back in ``undoing``, deleted in ``purging``.
    """

    BUILDING = "building", _("being made")
    REFUSED = "refused", _("not made")
    PLANNED = "planned", _("waits for approval")
    APPROVED = "approved", _("approved")
    APPLYING = "applying", _("being applied")
    HALTED = "halted", _("stopped in doubt")
    QUARANTINED = "quarantined", _("in quarantine")
    UNMOVED = "unmoved", _("applied, no file moved")
    UNDOING = "undoing", _("being undone")
    UNDONE = "undone", _("undone")
    PURGING = "purging", _("being purged")
    PURGED = "purged", _("purged")
    WITHDRAWN = "withdrawn", _("withdrawn")
