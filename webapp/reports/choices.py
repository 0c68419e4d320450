"""Stored values of reports with their words."""

from django.db import models


class ReportKind(models.TextChoices):
    INCIDENT = "incident", "incident report"
    DIGEST = "digest", "fleet digest"


class ReportState(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "being made"
    DONE = "done", "made"
    FAILED = "failed", "not made"
