from django.db import models
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import JobRow, scoped


@scoped()
class LogEvent(models.Model):
    """Serving table ``log_event``."""

    cluster = models.CharField(max_length=100)
    process = models.CharField(max_length=300)
    ts = models.DateTimeField()
    record_hash = models.CharField(max_length=64)
    ordinal = models.BigIntegerField()
    kind = models.CharField(max_length=64)
    level = models.CharField(max_length=16, null=True)
    job_id = models.CharField(max_length=64, null=True)
    checkpoint_id = models.BigIntegerField(null=True)
    vertex_id = models.CharField(max_length=64, null=True)
    vertex_name = models.TextField(null=True)
    subtask = models.BigIntegerField(null=True)
    attempt = models.BigIntegerField(null=True)
    execution_id = models.TextField(null=True)
    container = models.TextField(null=True)
    host = models.TextField(null=True)
    reason = models.TextField(null=True)
    fields = models.JSONField(null=True)
    message = models.TextField(null=True)
    detail = models.TextField(null=True)
    file = models.TextField(null=True)
    offset = models.BigIntegerField(null=True)
    as_of = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "process", "ts", "record_hash", "ordinal"], name="log_event_key"
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "job_id", "-ts", "-id"], name="log_event_of_job"),
            models.Index(fields=["cluster", "-ts", "-id"], name="log_event_of_cluster"),
            models.Index(fields=["ts"], name="log_event_age"),
            models.Index(
                fields=["-ts"], name="log_event_unread", condition=models.Q(kind="unread_line")
            ),
            models.Index(
                fields=["ts"], name="log_event_of_no_job", condition=models.Q(job_id__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.process} at {self.ts:%Y-%m-%d %H:%M:%S}"


@scoped()
class JobException(JobRow):
    """Serving table ``job_exception``: root and concurrent exceptions."""

    ts = models.DateTimeField()
    task_key = models.CharField(max_length=300)
    exception_name = models.CharField(max_length=300)
    task = models.TextField(null=True)
    stacktrace = models.TextField(null=True)
    host = models.TextField(null=True)
    taskmanager_id = models.TextField(null=True)
    is_root = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "ts", "task_key", "exception_name"],
                name="job_exception_key",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "job_id", "-ts", "-id"], name="exception_of_job"),
            models.Index(fields=["ts"], name="exception_age"),
        ]


RESTARTS_OF_MARK = Coalesce(Cast(KT("detail__count"), models.BigIntegerField()), 1)
"""Restarts that an annotation stands for: several if Flink's counter of them rose by several."""


@scoped()
class JobAnnotation(JobRow):
    """Serving table ``job_annotation``: marks on charts."""

    at = models.DateTimeField()
    kind = models.CharField(max_length=64)
    subject = models.CharField(max_length=300)
    label = MessageField(null=True)
    detail = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "at", "kind", "subject"], name="job_annotation_key"
            )
        ]
        indexes = [models.Index(fields=["at"], name="annotation_age")]
