"""What deleting by age would have done, as simulated over one audit."""

from django.db import models

from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import fleet_wide
from webapp.storage.choices import SimulationState
from webapp.storage.models.columns import OfAudit


@fleet_wide()
class AgeRuleResult(OfAudit):
    """``older than days``, for all roots of the audit or ``below`` one directory only; asked for by
    people, done by a worker.
    """

    days = models.PositiveIntegerField()
    below = models.CharField(
        max_length=1000, blank=True, help_text="canonical directory; empty for whole roots"
    )
    state = models.CharField(
        max_length=16, choices=SimulationState.choices, default=SimulationState.ASKED
    )
    result = models.JSONField(
        null=True,
        blank=True,
        help_text="root → what would be deleted and which restores would break",
    )
    error = MessageField(blank=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "days", "below"], name="one_simulation_per_age"
            )
        ]

    @property
    def directory_name(self) -> str:
        """Last part of ``below``, mostly the id of a job."""
        return self.below.rpartition("/")[2]

    def __str__(self) -> str:
        return f"older than {self.days} days below {self.below or 'all roots'} over {self.audit_id}"
