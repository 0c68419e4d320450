from django.db import models

from webapp.findings.choices import Severity
from webapp.findings.models import scope_text
from webapp.lib.scoped_rows import scoped


@scoped(also_of_all=True)
class RuleSetting(models.Model):
    """The narrowest scope wins: job, then cluster, then all. Empty columns inherit from wider ones."""

    rule = models.CharField(max_length=64)
    cluster = models.CharField(max_length=100, blank=True, help_text="empty for all clusters")
    job_id = models.CharField(
        max_length=64, blank=True, help_text="empty for all jobs of the cluster"
    )
    job_name = models.CharField(
        max_length=300,
        blank=True,
        help_text="of that job: it holds for all of this name on the cluster",
    )
    severity = models.CharField(
        max_length=16, choices=Severity.choices, blank=True, help_text="instead of the rule's own"
    )
    alerts = models.BooleanField(null=True, help_text="whether it alerts at all")
    hold_before_s = models.PositiveIntegerField(
        null=True, blank=True, help_text="seen so long before it fires"
    )
    hold_after_s = models.PositiveIntegerField(
        null=True, blank=True, help_text="gone so long before it is resolved"
    )
    author_name = models.CharField(max_length=200, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["rule", "cluster", "job_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "cluster", "job_id"], name="one_setting_per_scope"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.scope}"

    @property
    def in_scope(self) -> models.Q:
        query = models.Q(cluster=self.cluster) if self.cluster else models.Q()
        if self.job_id:
            query &= models.Q(job_id=self.job_id) | (
                models.Q(job_name=self.job_name) if self.job_name else models.Q()
            )
        return query

    @property
    def scope(self) -> str:
        return scope_text(self.cluster, self.job_name or self.job_id)
