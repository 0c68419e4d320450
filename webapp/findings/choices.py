"""Stored values of findings with their words."""

from django.db import models


class FindingState(models.TextChoices):
    OPEN = "open", "open"
    CLOSED = "closed", "closed"


class Severity(models.TextChoices):
    """As in :mod:`spark_jobs.diagnosis.findings`."""

    INFO = "info", "info"
    WARNING = "warning", "warning"
    CRITICAL = "critical", "critical"


SEVERITY_RANK = {Severity.INFO: 1, Severity.WARNING: 2, Severity.CRITICAL: 3}
"""Stored beside the word, so that the database can order by it."""
