"""Stored values of reports with their words."""

from django.db import models

from webapp.lib.translations import gettext_lazy as _


class ReportKind(models.TextChoices):
    INCIDENT = "incident", _("incident report")
    DIGEST = "digest", _("fleet digest")


class ReportState(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("being made")
    DONE = "done", _("made")
    FAILED = "failed", _("not made")
