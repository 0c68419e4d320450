"""What operators state of storage so that a doubt ends, with who, when and why."""

from typing import ClassVar, Self

from django.conf import settings
from django.db import models

from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import fleet_wide
from webapp.storage.choices import StatementKind
from webapp.storage.models.columns import URI_LENGTH


class StorageStatementQuerySet(models.QuerySet["StorageStatement"]):
    def counting(self) -> Self:
        """Neither taken back nor contradicted."""
        return self.filter(ended_at=None)


@fleet_wide()
class StorageStatement(models.Model):
    """``subject``: canonical directory or file; empty for a job that is known by its cluster and id
    alone. ``bytes``, ``modified`` and ``head_sha256`` recognise a file.

    It counts until it is ended: by a person, who took it back, or by an audit, which found that it
    is not true any more.
    """

    kind = models.CharField(max_length=16, choices=StatementKind.choices)
    subject = models.CharField(max_length=URI_LENGTH, blank=True)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)
    bytes = models.BigIntegerField(null=True, blank=True)
    modified = models.DateTimeField(null=True, blank=True)
    head_sha256 = models.CharField(max_length=64, blank=True, help_text="of its first 4,096 bytes")
    reason = models.TextField()
    stated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    stated_name = models.CharField(max_length=200, help_text="their name at that time")
    stated_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_why = MessageField(blank=True)

    objects: ClassVar = StorageStatementQuerySet.as_manager()

    class Meta:
        ordering = ["-stated_at", "-id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject or f'{self.cluster}/{self.job_id}'}"

    @property
    def named(self) -> str:
        """What it is about."""
        return self.subject or f"{self.cluster}/{self.job_id}"

    @property
    def place(self) -> str:
        """Where the files lie that it is about: below a directory, or in those of a job's id."""
        return self.subject or self.job_id
