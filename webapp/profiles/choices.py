"""Stored values of thread dumps with their words."""

from django.db import models

from webapp.lib.translations import gettext_lazy as _


class ThreadDumpState(models.TextChoices):
    """What became of the last request."""

    WANTED = "wanted", _("not answered yet")
    TAKEN = "taken", _("taken")
    FAILED = "failed", _("no answer")
