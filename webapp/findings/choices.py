from django.db import models

from webapp.lib.translations import gettext_lazy as _


class FindingState(models.TextChoices):
    OPEN = "open", _("open")
    CLOSED = "closed", _("closed")


class Severity(models.TextChoices):
    INFO = "info", _("info")
    WARNING = "warning", _("warning")
    CRITICAL = "critical", _("critical")


SEVERITY_RANK = {Severity.INFO: 1, Severity.WARNING: 2, Severity.CRITICAL: 3}
"""Stored beside the word, so that the database can sort findings by severity."""

SEVERITY_OF_RANK = {rank: str(severity) for severity, rank in SEVERITY_RANK.items()}
