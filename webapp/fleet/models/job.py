"""One row per job: everything the fleet page shows and sorts by."""

from typing import TYPE_CHECKING, ClassVar

from django.db import models

from webapp.fleet.choices import HealthState
from webapp.fleet.querysets import JobCurrentQuerySet
from webapp.fleet.sorting import FLEET_SORTS
from webapp.lib.scoped_rows import scoped


@scoped()
class JobCurrent(models.Model):
    """Serving table ``job_current``; ``trouble`` is added by the loader (see
    :mod:`webapp.fleet.trouble_score`), health and the worst finding by
    :mod:`webapp.findings.job_judgements`, orphans by
    :mod:`webapp.storage.auditing.fleet_orphan_bytes`.
    """

    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    name = models.CharField(max_length=300, null=True)
    state = models.CharField(max_length=32, null=True)
    terminal = models.BooleanField(null=True)
    states = models.JSONField(null=True)
    start_time = models.DateTimeField(null=True)
    end_time = models.DateTimeField(null=True)
    flink_version = models.CharField(max_length=64, null=True)
    parallelism = models.BigIntegerField(null=True)
    vertex_count = models.BigIntegerField(null=True)
    restarts = models.BigIntegerField(null=True)
    graph = models.JSONField(null=True)
    checkpoint_config = models.JSONField(null=True)
    configuration = models.JSONField(null=True)
    checkpoint_interval_ms = models.BigIntegerField(null=True)
    checkpoint_timeout_ms = models.BigIntegerField(null=True)
    last_completed_id = models.BigIntegerField(null=True)
    last_completed_at = models.DateTimeField(null=True)
    last_completed_ms = models.BigIntegerField(null=True)
    last_completed_path = models.TextField(null=True)
    last_outcome = models.CharField(max_length=32, null=True)
    recent_outcomes = models.JSONField(null=True)
    recent_total = models.BigIntegerField(null=True)
    recent_failed = models.BigIntegerField(null=True)
    end_to_end_p95_ms = models.FloatField(null=True)
    dominant_phase = models.CharField(max_length=32, null=True)
    dominant_phase_share = models.FloatField(null=True)
    state_bytes = models.BigIntegerField(null=True)
    checkpointed_bytes = models.BigIntegerField(null=True)
    pressured_share = models.FloatField(null=True)
    restored_checkpoint_id = models.BigIntegerField(null=True)
    restored_at = models.DateTimeField(null=True)
    restored_is_savepoint = models.BooleanField(null=True)
    restored_path = models.TextField(null=True)
    flink_counts = models.JSONField(null=True)
    first_seen_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    as_of = models.DateTimeField()

    trouble = models.PositiveSmallIntegerField(
        default=0, help_text="0 nothing known … 100 the job is gone; orders the fleet page"
    )
    worst_finding_points = models.PositiveSmallIntegerField(
        db_default=0,
        help_text=(
            "what its gravest finding took off its health while it ran; of jobs that ended, "
            "and orders these"
        ),
    )

    health = models.PositiveSmallIntegerField(
        null=True, help_text="100 less what its open findings take off; null unless judged"
    )
    health_state = models.CharField(
        max_length=16, choices=HealthState.choices, db_default=HealthState.UNKNOWN
    )
    orphan_bytes = models.BigIntegerField(
        null=True, help_text="in its directories, by the newest audits; null where none looked"
    )
    judged_at = models.DateTimeField(
        null=True, help_text="the instant up to which its data were judged"
    )

    if TYPE_CHECKING:
        status: str  # annotated by JobCurrentQuerySet.with_status

    objects: ClassVar = JobCurrentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id"], name="job_current_key")
        ]
        indexes = [
            *(sort.index() for sort in FLEET_SORTS.values()),
            # All that the totals above the fleet table need, so that counting never touches the
            # wide rows.
            models.Index(
                fields=[
                    "terminal",
                    "state",
                    "cluster",
                    "health",
                    "health_state",
                    "last_seen_at",
                    "judged_at",
                ],
                name="job_totals",
            ),
            models.Index(
                fields=["cluster", "-id"],
                name="job_newest_configured",
                condition=models.Q(configuration__isnull=False),
            ),
            models.Index(
                fields=["-judged_at"],
                name="job_judged",
                condition=models.Q(judged_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.job_id} on {self.cluster}"

    @property
    def restored_kind(self) -> str:
        """What it was restored from, where it was."""
        if self.restored_is_savepoint is None:
            return "checkpoint or savepoint"
        return "savepoint" if self.restored_is_savepoint else "checkpoint"
