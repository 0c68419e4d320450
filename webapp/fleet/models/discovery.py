from datetime import datetime
from typing import ClassVar, Self

from django.db import models

from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import fleet_wide
from webapp.work.models import CLOCK_SLACK


class SourceReadingQuerySet(models.QuerySet["SourceReading"]):
    def failing(self, since: datetime) -> Self:
        return self.filter(
            models.Q(last_success_at__isnull=True) | models.Q(last_success_at__lt=since),
            last_error__isnull=False,
        )

    def mend(self, now: datetime) -> None:
        for name in ("last_read_at", "last_success_at"):
            future_readings = self.filter(**{f"{name}__gt": now + CLOCK_SLACK})
            future_readings.update(**{name: now, "due_at": now})


@fleet_wide()
class SourceReading(models.Model):
    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=16)
    place = models.TextField(help_text="where it is read")
    due_at = models.DateTimeField(help_text="when it is read next")
    last_read_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    last_error = MessageField(null=True)
    clusters = models.PositiveIntegerField(null=True, help_text="listed at the last success")
    refused = MessagesField(
        default=list, help_text="the first of what was listed and is not followed, with the reason"
    )
    refused_count = models.PositiveIntegerField(default=0)

    objects: ClassVar = SourceReadingQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
