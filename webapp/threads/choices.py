"""Stored values of thread dumps with their words."""

from django.db import models


class ThreadDumpState(models.TextChoices):
    """What became of the last request."""

    WANTED = "wanted", "not answered yet"
    TAKEN = "taken", "taken"
    FAILED = "failed", "no answer"
