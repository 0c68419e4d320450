"""Stored values of clean-up plans with their words."""

from django.db import models


class PlanState(models.TextChoices):
    """Where a clean-up plan stands. Files are only ever moved in ``applying``, put back in ``undoing``, deleted in ``purging``."""

    BUILDING = "building", "being made"
    REFUSED = "refused", "not made"
    PLANNED = "planned", "waits for approval"
    APPROVED = "approved", "approved"
    APPLYING = "applying", "being applied"
    HALTED = "halted", "stopped in doubt"
    QUARANTINED = "quarantined", "in quarantine"
    UNMOVED = "unmoved", "applied, no file moved"
    UNDOING = "undoing", "being undone"
    UNDONE = "undone", "undone"
    PURGING = "purging", "being purged"
    PURGED = "purged", "purged"
    WITHDRAWN = "withdrawn", "withdrawn"
