from django.db import models

from webapp.lib.translations import gettext_lazy as _


class ReportState(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("being made")
    DONE = "done", _("made")
    FAILED = "failed", _("not made")
