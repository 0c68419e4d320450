from django.db import models


class IncidentState(models.TextChoices):
    """``OPEN`` while any of its findings is."""

    OPEN = "open", "open"
    CLOSED = "closed", "closed"
    MERGED = "merged", "part of another"
