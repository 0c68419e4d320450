"""One audit: a listing joined with every reference, and where its files are."""

from typing import ClassVar, Self

from django.db import models
from django.utils import timezone

from ingest.storage.instants import CLOCK_SKEW
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import fleet_wide
from webapp.storage.choices import AuditPurpose, AuditState


class StorageAuditQuerySet(models.QuerySet["StorageAudit"]):
    def loaded(self) -> Self:
        """Complete ones whose figures are in the database; one from the future proves nothing and
        is not the newest of anything.
        """
        return self.filter(state=AuditState.LOADED, as_of__lte=timezone.now() + CLOCK_SKEW)

    def not_carried_by(self, audit: "StorageAudit") -> Self:
        """Older ones that were not loaded yet when ``audit`` began: an inventory of the past, or
        one that ran beside it.
        """
        return (
            self.loaded()
            .filter(files_kept=True, as_of__lte=audit.as_of, finished_at__gt=audit.created_at)
            .exclude(pk=audit.pk)
        )

    def newest(self) -> "StorageAudit | None":
        """The last loaded one, by the instant its listing began."""
        return self.loaded().order_by("-as_of", "-id").first()


@fleet_wide()
class StorageAudit(models.Model):
    """``audit_id`` names it in every table. ``as_of`` is the instant its listing began: what came
    later it cannot know.

    ``previous`` is the audit whose carried state it started from; a file is an orphan only after
    two of them.
    """

    audit_id = models.CharField(max_length=64, unique=True)
    run = models.ForeignKey(
        "work.PipelineRun",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="storage_audits",
    )
    previous = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="followers"
    )
    purpose = models.CharField(
        max_length=16, choices=AuditPurpose.choices, default=AuditPurpose.SCHEDULED
    )
    state = models.CharField(max_length=16, choices=AuditState.choices, default=AuditState.RUNNING)
    roots = models.JSONField(default=list, help_text="canonical URIs it looked at")
    as_of = models.DateTimeField(null=True, blank=True)
    age_guard_h = models.PositiveIntegerField(default=72)
    fresh = models.BooleanField(default=False, help_text="every _metadata was parsed again")
    run_dir = models.CharField(max_length=1000, blank=True)
    manifest_path = models.CharField(max_length=1000, blank=True)
    files_kept = models.BooleanField(
        default=True, help_text="its verdicts by file are still on disk"
    )
    withheld = MessagesField(
        default=dict, blank=True, help_text="root → why its attestation does not count this time"
    )
    outside = models.JSONField(
        default=list,
        blank=True,
        help_text="where live clusters were known to write, below none of its roots",
    )
    error = MessageField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar = StorageAuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "-as_of", "-id"], name="audit_newest")]

    def __str__(self) -> str:
        return f"{self.audit_id}: {self.state}"
