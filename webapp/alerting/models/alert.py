from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models

from webapp.alerting.choices import OPEN, AlertState, EventKind, Mute, Notified
from webapp.alerting.models.group import AlertGroup
from webapp.alerting.models.mutes import Silence
from webapp.alerting.story_texts import story_words
from webapp.findings.choices import Severity
from webapp.fleet.attempts import of_jobs
from webapp.incidents.models import Incident
from webapp.lib import scopes
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import scoped, scoped_as
from webapp.lib.uids import new_uid


def alert_uid() -> str:
    return new_uid("alr")


NOT_ACKNOWLEDGED: dict[str, Any] = {
    "acknowledged_name": "",
    "acknowledged_at": None,
    "acknowledge_comment": "",
}


class AlertQuerySet(models.QuerySet["Alert"]):
    def open(self) -> Self:
        return self.filter(state__in=OPEN)

    def firing(self) -> Self:
        return self.filter(state=AlertState.FIRING)

    def of_job(self, cluster: str, job_id: str) -> Self:
        return self.filter(of_jobs([job_id], cluster))

    def unacknowledged(self) -> Self:
        return self.firing().filter(
            acknowledged_at__isnull=True, muted_by=Mute.NONE, recorded=False
        )

    def to_notify(self) -> Self:
        return self.filter(notify_since__isnull=False, muted_by=Mute.NONE)

    def with_names(self) -> Self:
        """Adds ``related`` of the finding, by which pages recognise names in titles."""
        return self.annotate(related=models.F("finding__related"))

    def with_all_names(self) -> Self:
        """Also adds ``data`` of the finding, which may be long."""
        return self.with_names().annotate(data=models.F("finding__data"))

    def overlapping(self, start: datetime, end: datetime) -> Self:
        return self.filter(
            models.Q(ends_at__isnull=True) | models.Q(ends_at__gte=start), starts_at__lte=end
        )


@scoped()
class Alert(models.Model):
    """The evaluation writes alerts under its lease; people only write acknowledgements.
    ``starts_at``, ``ends_at`` and ``episode_at`` are data time, other instants are Weir's. Texts
    are copies from the finding at its last change or notice.
    """

    uid = models.CharField(max_length=40, unique=True, default=alert_uid, editable=False)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(
        max_length=64, blank=True, help_text="the attempt on which it was seen last"
    )
    first_attempt_id = models.CharField(
        max_length=64, blank=True, help_text="of its job, as its finding has it"
    )
    rule = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=300)
    # Without a constraint, the process that deletes findings does not wait for alerts or fail.
    finding = models.ForeignKey(
        "findings.Finding",
        null=True,
        on_delete=models.SET_NULL,
        db_constraint=False,
        related_name="alerts",
    )
    group = models.ForeignKey(AlertGroup, on_delete=models.PROTECT, related_name="alerts")
    incident = models.ForeignKey(
        Incident, null=True, to_field="uid", on_delete=models.SET_NULL, related_name="alerts"
    )

    job_name = models.CharField(max_length=300, null=True)
    subject_kind = models.CharField(max_length=16)
    subject = MessageField()
    severity = models.CharField(
        max_length=16, choices=Severity.choices, help_text="after what people set"
    )
    severity_rank = models.PositiveSmallIntegerField()
    confidence = models.CharField(max_length=16)
    title = MessageField()
    cause = MessageField()
    next_step = MessageField()
    evidence = MessagesField(default=list)
    labels = models.JSONField(default=dict, help_text="besides those that are columns")

    state = models.CharField(max_length=16, choices=AlertState.choices)
    recorded = models.BooleanField(
        default=False,
        help_text="of a recording: judged in its own time, notified without repetition",
    )
    starts_at = models.DateTimeField(help_text="when it was first seen in the data")
    ends_at = models.DateTimeField(null=True, help_text="when it ended in the data")
    episode_at = models.DateTimeField(help_text="when its newest episode began in the data")
    fired_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    ended_because = MessageField(
        blank=True, help_text="why it ended, where that is not what its rule saw"
    )
    quiet_since = models.DateTimeField(null=True, help_text="since when its finding is closed")
    resolves_at = models.DateTimeField(
        null=True,
        help_text="when it is resolved, unless its finding opens again before; null unless quiet",
    )
    firings = models.PositiveIntegerField(default=0)
    fired = models.JSONField(
        default=list, help_text="data time of the last firings, from which flapping is detected"
    )
    flapping = models.BooleanField(default=False)

    notified = models.CharField(
        max_length=16, choices=Notified.choices, default=Notified.NOTHING, blank=True
    )
    notified_rank = models.PositiveSmallIntegerField(
        default=0, help_text="severity that people know it by; a worse one is notified"
    )
    milder_since = models.DateTimeField(
        null=True, help_text="since when its severity is lower than that; null where it is not"
    )
    causes = models.JSONField(
        default=list, help_text="what its findings named as causes, as far as they name them"
    )
    notified_causes = models.JSONField(
        default=list, help_text="those that a notice was made of; another one is notified"
    )
    notified_at = models.DateTimeField(null=True)
    notify_since = models.DateTimeField(
        null=True, help_text="first evidence of what is still to be notified; null where nothing is"
    )
    muted_by = models.CharField(max_length=16, choices=Mute.choices, default=Mute.NONE, blank=True)
    inhibited_by = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="mutes"
    )
    silence = models.ForeignKey(
        Silence, null=True, on_delete=models.SET_NULL, related_name="silenced"
    )

    acknowledged_name = models.CharField(
        max_length=200, blank=True, help_text="their name at that time; empty while nobody has"
    )
    acknowledged_at = models.DateTimeField(null=True)
    acknowledge_comment = models.TextField(blank=True)
    created_at = models.DateTimeField()

    objects: ClassVar = AlertQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "first_attempt_id", "rule", "subject_id"],
                condition=models.Q(state__in=OPEN),
                name="one_open_alert",
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "first_attempt_id", "rule", "subject_id", "-id"],
                name="alert_of_subject",
            ),
            models.Index(
                fields=["state", "-severity_rank", "-starts_at", "-id"], name="alert_by_severity"
            ),
            models.Index(fields=["-starts_at", "-id"], name="alert_newest"),
            models.Index(fields=["cluster", "-starts_at", "-id"], name="alert_of_cluster"),
            models.Index(fields=["rule", "-starts_at", "-id"], name="alert_of_rule"),
            models.Index(
                fields=["cluster", "first_attempt_id", "-starts_at", "-id"], name="alert_of_job"
            ),
            models.Index(
                fields=["group", "notify_since"],
                name="alert_to_tell",
                condition=models.Q(notify_since__isnull=False),
            ),
            models.Index(
                fields=["quiet_since"],
                name="alert_quiet",
                condition=models.Q(state__in=OPEN, quiet_since__isnull=False),
            ),
            models.Index(fields=["muted_by"], name="alert_muted", condition=~models.Q(muted_by="")),
            models.Index(fields=["resolved_at"], name="alert_age"),
        ]

    def __str__(self) -> str:
        return f"{self.uid}: {self.rule} {self.state}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.cluster, self.first_attempt_id, self.rule, self.subject_id

    @property
    def family(self) -> str:
        return self.rule.partition(".")[0]

    @property
    def group_key(self) -> str:
        """For readers who do not see the group's cluster, the key that this cluster would have."""
        if scopes.current().holds(self.group.cluster):
            return self.group.key
        return AlertGroup(cluster=self.cluster, family=self.family).key

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_acknowledged(self) -> bool:
        return self.acknowledged_at is not None

    @property
    def called(self) -> str:
        return self.job_name or self.job_id or self.subject


@scoped_as("alerting.Alert", by="alert")
class AlertEvent(models.Model):
    """``at`` is data time if the event is in the data, else Weir's time."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=16, choices=EventKind.choices)
    who = models.CharField(
        max_length=200, blank=True, help_text="their name at that time; empty for Weir"
    )
    comment = MessageField(blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["alert", "id"], name="event_of_alert")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M:%S}"

    @property
    def words(self) -> str:
        return story_words(self.kind, self.comment)
