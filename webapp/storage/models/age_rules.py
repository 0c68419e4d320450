"""What deleting by age would have done, as simulated over one audit."""

from django.db import models

from webapp.storage.choices import SimulationState
from webapp.storage.models.columns import OfAudit


class AgeRuleResult(OfAudit):
    """``older than days``, for all roots of the audit; asked for on the page or the command line, done by a worker."""

    days = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=SimulationState.choices, default=SimulationState.ASKED)
    result = models.JSONField(null=True, blank=True, help_text="root → what would be deleted and which restores would break")
    error = models.TextField(blank=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "days"], name="one_simulation_per_age")]

    def __str__(self) -> str:
        return f"older than {self.days} days over {self.audit_id}"
