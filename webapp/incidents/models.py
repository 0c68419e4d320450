from typing import ClassVar, Self

from django.conf import settings
from django.db import models

from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.incidents.choices import IncidentState
from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import scoped, scoped_as
from webapp.lib.uids import new_uid


def incident_uid() -> str:
    return new_uid("inc")


LEAST_RANK = SEVERITY_RANK[Severity.WARNING]


class IncidentQuerySet(models.QuerySet["Incident"]):
    def listed(self) -> Self:
        """Incidents that may need an action: of warnings and worse, not merged into others."""
        return self.filter(severity_rank__gte=LEAST_RANK).exclude(state=IncidentState.MERGED)

    def open(self) -> Self:
        return self.filter(state=IncidentState.OPEN)


@scoped()
class Incident(models.Model):
    """Only the evaluation of alerts writes incidents; people only write acknowledgements.

    ``cluster``, ``job_id``, ``rule`` and texts are those of the finding that is the cause.
    ``began_at``, ``last_seen`` and ``ended_at`` are data time. An incident that was merged into an
    older one stays as a target of links.
    """

    uid = models.CharField(max_length=40, unique=True, default=incident_uid, editable=False)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)
    job_name = models.CharField(max_length=300, null=True)
    rule = models.CharField(max_length=64)
    # No constraints in the database: another process recreates findings, and must neither wait for
    # incidents nor fail because of them.
    cause = models.ForeignKey(
        "findings.Finding",
        null=True,
        on_delete=models.SET_NULL,
        db_constraint=False,
        related_name="+",
    )
    title = MessageField()
    severity = models.CharField(
        max_length=16, choices=Severity.choices, help_text="the worst of its findings"
    )
    severity_rank = models.PositiveSmallIntegerField()
    state = models.CharField(
        max_length=16, choices=IncidentState.choices, default=IncidentState.OPEN
    )
    began_at = models.DateTimeField()
    last_seen = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    finding_count = models.PositiveIntegerField(default=0)
    job_count = models.PositiveIntegerField(default=0)
    merged_into = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="merged"
    )
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    acknowledged_name = models.CharField(
        max_length=200, blank=True, help_text="their name at that time; empty while nobody has"
    )
    acknowledged_at = models.DateTimeField(null=True)
    acknowledge_comment = models.TextField(blank=True)
    acknowledged_rank = models.PositiveSmallIntegerField(
        default=0, help_text="how bad it was then: alerts that are worse ask again"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    owner_name = models.CharField(
        max_length=200, blank=True, help_text="who works on it, by their name; empty for nobody"
    )
    created_at = models.DateTimeField()

    objects: ClassVar = IncidentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["state", "-severity_rank", "-began_at", "-id"], name="incident_by_severity"
            ),
            models.Index(fields=["-began_at", "-id"], name="incident_newest"),
            models.Index(fields=["cluster", "-began_at", "-id"], name="incident_of_cluster"),
            models.Index(fields=["cluster", "job_id", "-began_at", "-id"], name="incident_of_job"),
            models.Index(fields=["last_seen"], name="incident_age"),
        ]

    def __str__(self) -> str:
        return f"{self.uid}: {self.title}"

    @property
    def is_open(self) -> bool:
        return self.state == IncidentState.OPEN

    @property
    def is_acknowledged(self) -> bool:
        return self.acknowledged_at is not None

    @property
    def called(self) -> str:
        return self.job_name or self.job_id or self.cluster or "storage"


@scoped_as("incidents.Incident", by="incident")
class IncidentMember(models.Model):
    """A finding of an incident. After a finding's deletion, the next evaluation removes the member."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="members")
    finding = models.OneToOneField(
        "findings.Finding",
        null=True,
        on_delete=models.SET_NULL,
        db_constraint=False,
        related_name="incident_member",
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["incident"],
                name="member_without_finding",
                condition=models.Q(finding__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"finding {self.finding_id} of incident {self.incident_id}"


@scoped()
class SharedCause(models.Model):
    """A broken thing that a finding names, and that findings of other jobs may also name."""

    cluster = models.CharField(max_length=100)
    rule = models.CharField(max_length=64)
    thing = models.CharField(
        max_length=300,
        help_text="as spark_jobs.diagnosis.incidents spells it, cut at 300 characters",
    )
    finding = models.ForeignKey(
        "findings.Finding", on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "rule", "thing", "finding"], name="one_shared_cause"
            )
        ]

    def __str__(self) -> str:
        return f"{self.thing} of {self.cluster}"
