from django.db import models


class IncidentState(models.TextChoices):
    """An incident is open while one of its findings is."""

    OPEN = "open", "open"
    CLOSED = "closed", "closed"
    MERGED = "merged", "part of another"
