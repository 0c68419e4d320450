from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext

from webapp.findings.choices import FindingState, Severity
from webapp.fleet.attempts import of_jobs
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import JobRow, scoped


@scoped()
class FindingOccurrence(JobRow):
    """Serving table ``finding_occurrence``: a rule fired for one subject in one judged window."""

    rule = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=300)
    window_start = models.DateTimeField()
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    job_name = models.CharField(max_length=300, null=True)
    severity = models.CharField(max_length=16)
    confidence = models.CharField(max_length=16)
    subject_kind = models.CharField(max_length=16)
    subject = MessageField()
    title = MessageField()
    cause = MessageField()
    next_step = MessageField()
    evidence = MessagesField()
    related = MessagesField()
    data = MessagesField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "rule", "subject_id", "window_start"],
                name="finding_occurrence_key",
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "job_id", "rule", "subject_id", "seen_at"],
                name="occurrence_of_finding",
            ),
            models.Index(fields=["cluster", "job_id", "window_start"], name="occurrence_of_window"),
            models.Index(fields=["window_start"], name="occurrence_age"),
        ]


@scoped()
class JobJudgement(JobRow):
    """Serving table ``job_judgement``: up to when a job was judged, and what could not be judged."""

    judged_to = models.DateTimeField()
    windows = models.JSONField()
    covered = models.JSONField(default=list, help_text="judged minutes of all its life")
    unknowns = MessagesField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id"], name="job_judgement_key")
        ]


WORST_FIRST = ("-severity_rank", "-last_seen", "-id")


class FindingQuerySet(models.QuerySet["Finding"]):
    def open(self) -> Self:
        return self.filter(state=FindingState.OPEN)

    def of_job(self, cluster: str, job_id: str) -> Self:
        return self.filter(of_jobs([job_id], cluster))

    def worst_first(self) -> Self:
        return self.order_by(*WORST_FIRST)


@scoped()
class Finding(models.Model):
    """One episode of one rule about one subject: occurrences no further apart than the rule's hold
    time. Texts, evidence and ``job_id`` (the attempt, "" for a cluster) are those of the newest
    occurrence.
    """

    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64, blank=True)
    first_attempt_id = models.CharField(
        max_length=64,
        blank=True,
        help_text="of its job, which it belongs to whatever id that has; job_id where it is about "
        "one attempt alone",
    )
    job_name = models.CharField(max_length=300, null=True)
    rule = models.CharField(max_length=64)
    severity = models.CharField(max_length=16, choices=Severity.choices)
    severity_rank = models.PositiveSmallIntegerField(help_text="1 info, 2 warning, 3 critical")
    confidence = models.CharField(max_length=16)
    state = models.CharField(max_length=16, choices=FindingState.choices, default=FindingState.OPEN)
    subject_kind = models.CharField(max_length=16)
    subject_id = models.CharField(max_length=300)
    subject = MessageField()
    title = MessageField()
    cause = MessageField()
    next_step = MessageField()
    evidence = MessagesField(default=list)
    related = MessagesField(default=list)
    data = MessagesField(default=dict)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    as_of = models.DateTimeField()
    refold_from = models.DateTimeField(
        null=True, help_text="its judged windows from here on changed and are still to be folded"
    )
    to_alert = models.BooleanField(
        default=True, help_text="it changed and alerting has not evaluated it since"
    )

    objects: ClassVar = FindingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "first_attempt_id", "rule", "subject_id"],
                condition=models.Q(state="open"),
                name="one_open_finding",
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "first_attempt_id", "rule", "subject_id", "last_seen"],
                name="finding_of_subject",
            ),
            models.Index(
                fields=["cluster", "first_attempt_id", "state", "-last_seen", "-id"],
                name="finding_of_job",
            ),
            models.Index(fields=["cluster", "job_id"], name="finding_of_attempt"),
            models.Index(
                fields=["state", "-severity_rank", "-last_seen", "-id"], name="finding_by_severity"
            ),
            models.Index(fields=["-last_seen", "-id"], name="finding_newest"),
            models.Index(fields=["rule", "-last_seen", "-id"], name="finding_of_rule"),
            models.Index(fields=["cluster", "-last_seen", "-id"], name="finding_of_cluster"),
            models.Index(
                fields=["refold_from"],
                name="finding_to_fold",
                condition=models.Q(refold_from__isnull=False),
            ),
            models.Index(fields=["id"], name="finding_to_alert", condition=models.Q(to_alert=True)),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.cluster, self.first_attempt_id, self.rule, self.subject_id

    def save(self, **options: Any) -> None:
        self.first_attempt_id = self.first_attempt_id or self.job_id
        super().save(**options)


@scoped()
class FindingHost(models.Model):
    finding = models.ForeignKey(Finding, on_delete=models.CASCADE, related_name="named_hosts")
    cluster = models.CharField(max_length=100)
    host = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["host", "cluster", "finding"], name="one_host_of_finding"
            )
        ]

    def __str__(self) -> str:
        return f"{self.host} of {self.cluster}"


@scoped(also_of_all=True)
class ThresholdOverride(models.Model):
    """Set by a person. The narrowest scope wins: job, then cluster, then all."""

    key = models.CharField(max_length=100, help_text="<rule id>.<name>")
    value = models.FloatField()
    cluster = models.CharField(max_length=100, blank=True, help_text="empty for all clusters")
    job_id = models.CharField(
        max_length=64, blank=True, help_text="empty for all jobs of the cluster"
    )
    job_name = models.CharField(
        max_length=300,
        blank=True,
        help_text="of that job: it holds for all of this name on the cluster",
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "cluster", "job_id"], name="one_override_per_scope"
            )
        ]

    def __str__(self) -> str:
        return f"{self.key} = {self.value:g}"

    @property
    def scope(self) -> str:
        return scope_text(self.cluster, self.job_name or self.job_id)


def scope_text(cluster: str, job: str) -> str:
    if job:
        return gettext("job %(job)s of %(cluster)s") % {"job": job, "cluster": cluster}
    if cluster:
        return gettext("cluster %(cluster)s") % {"cluster": cluster}
    return gettext("everywhere")
