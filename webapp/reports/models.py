from typing import ClassVar, Self

from django.conf import settings
from django.db import models

from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import scoped
from webapp.lib.uids import new_uid
from webapp.reports.choices import ReportState


def new_report_uid() -> str:
    return new_uid("rep")


AT_WORK = (ReportState.QUEUED, ReportState.RUNNING)


class IncidentReportQuerySet(models.QuerySet["IncidentReport"]):
    def to_make(self) -> Self:
        return self.filter(state__in=AT_WORK)

    def listed(self) -> Self:
        """Reports without their documents, which are large."""
        return self.defer("document")


@scoped()
class IncidentReport(models.Model):
    uid = models.CharField(max_length=40, unique=True, default=new_report_uid, editable=False)
    title = MessageField(blank=True)
    jobs = models.JSONField(
        default=list,
        blank=True,
        help_text="chosen ones: [cluster, job id], 50 at most",
    )
    cluster = models.CharField(
        max_length=100,
        blank=True,
        editable=False,
        help_text="all it says is of this one; empty: of the fleet",
    )
    start = models.DateTimeField()
    end = models.DateTimeField()
    from_alert = models.CharField(
        max_length=64, blank=True, help_text="uid of the alert or the incident it was made from"
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="reports",
    )
    author_name = models.CharField(max_length=200, blank=True, help_text="their name at that time")
    state = models.CharField(max_length=16, choices=ReportState.choices, default=ReportState.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = MessageField(blank=True)
    tone = models.CharField(
        max_length=16,
        blank=True,
        help_text="crit, warn, ok or unknown: the verdict of its first screen",
    )
    document = MessagesField(null=True, blank=True)
    asked_at = models.DateTimeField()
    made_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar = IncidentReportQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "-id"], name="report_of_state")]

    def __str__(self) -> str:
        return self.title or self.uid
