"""Contents and journal of a clean-up plan are in its folder."""

from datetime import datetime
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models

from webapp.cleanup.choices import PlanState
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import fleet_wide

AT_WORK = (PlanState.BUILDING, PlanState.APPLYING, PlanState.UNDOING, PlanState.PURGING)
"""States in which a worker has to continue."""


class CleanupPlanQuerySet(models.QuerySet["CleanupPlan"]):
    def due(self, now: datetime) -> Self:
        """Plans to work on, or whose quarantine is over. A purge that stopped in doubt must be
        ordered again.
        """
        return self.filter(
            models.Q(state__in=AT_WORK)
            | models.Q(state=PlanState.QUARANTINED, purge_at__lte=now, trouble="")
        )


@fleet_wide()
class CleanupPlan(models.Model):
    """``name`` is the SHA-256 of the manifest, empty until the plan is made; ``folder`` contains
    manifest, parts and journal. ``progress`` and ``summary`` are copies of journal and manifest for
    lists.
    """

    name = models.CharField(max_length=64, unique=True, null=True, default=None)
    state = models.CharField(max_length=16, choices=PlanState.choices, default=PlanState.BUILDING)
    folder = models.CharField(max_length=1000, unique=True)
    audit = models.ForeignKey(
        "storage.StorageAudit", null=True, on_delete=models.SET_NULL, related_name="plans"
    )
    roots = models.JSONField(default=list, help_text="canonical URIs that were asked for")
    waste = models.BooleanField(default=False, help_text="retained waste as well as orphans")
    files = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    summary = MessagesField(
        default=dict, help_text="of the manifest: roots, what was withheld and why"
    )
    progress = models.JSONField(default=dict, help_text="verb → files and bytes by outcome")
    trouble = MessageField(blank=True, help_text="why it was not made, or stopped")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="cleanup_plans"
    )
    created_name = models.CharField(max_length=200, help_text="their name at that time")
    expires_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="approved_cleanup_plans",
    )
    approved_name = models.CharField(max_length=200, blank=True)
    approved_through = models.CharField(
        max_length=200, blank=True, help_text="page, or the token that was used"
    )
    grace_s = models.PositiveBigIntegerField(help_text="from the end of applying to the purge")
    ordered_name = models.CharField(
        max_length=200, blank=True, help_text="who asked for what is being done now"
    )
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(
        null=True, help_text="when the last of what was asked for ended"
    )
    purge_at = models.DateTimeField(
        null=True, help_text="when the quarantine is emptied; empty where it is not"
    )

    objects: ClassVar = CleanupPlanQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        permissions = [("approve_cleanupplan", "Can approve clean-up plans")]
        indexes = [models.Index(fields=["state", "purge_at"], name="cleanup_plan_due")]

    def __str__(self) -> str:
        return f"{self.short_name}: {self.state}"

    @property
    def short_name(self) -> str:
        return self.name[:12] if self.name else f"plan {self.pk}"

    def is_expired(self, at: datetime) -> bool:
        return at >= self.expires_at

    def counts(self, verb: str) -> dict[str, Any]:
        """Files and bytes by outcome, with ``chunks`` and ``chunks_done``."""
        progress: dict[str, Any] = self.progress.get(verb, {})
        return progress
