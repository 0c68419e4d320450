from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce, Greatest

from ingest.job_states import NOT_LISTED
from webapp.fleet.badges import JOB_BADGES, health_badge
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, ClusterKind, HealthState
from webapp.fleet.freshness import late_before
from webapp.fleet.models.cluster import Cluster, RemovedCluster
from webapp.fleet.sorting import FLEET_SORTS
from webapp.lib.badges import Badge
from webapp.lib.scoped_rows import JobRow, scoped

JOB_FORGOTTEN_AFTER_CYCLES = 20
OVER = models.Q(terminal=True) | models.Q(state=NOT_LISTED)
"""Jobs that no longer run, as REST reports. A job that is just not listed may still run and need
its files: only ``terminal`` proves that files may be deleted.
"""
HEAVY = ("graph", "configuration", "checkpoint_config")


class JobCurrentQuerySet(models.QuerySet["JobCurrent"]):
    def newest_attempts(self) -> Self:
        return self.filter(is_newest_attempt=True)

    def worst_first(self, *ties: str) -> Self:
        """Sorts by trouble or by 100 minus health, whichever is greater: ended jobs have no health,
        and running jobs have no trouble unless they restart.
        """
        missing = Coalesce(models.Value(100) - models.F("health"), models.Value(0))
        return self.order_by(Greatest("trouble", missing).desc(), *ties)

    def called(self, cluster: str, job: str) -> "list[JobCurrent]":
        """``job`` is an id or a name. Returns two jobs if a name is not unique."""
        of_cluster = self.filter(cluster=cluster)
        by_id = list(of_cluster.filter(job_id=job))
        return by_id or list(of_cluster.newest_attempts().filter(name=job)[:2])

    def with_status(
        self, now: datetime
    ) -> Any:  # a queryset of jobs; the type plugin refuses filters by annotations
        """Adds ``status``. Ended jobs keep their state; other states are known only if the cluster
        answers, and if the job was judged recently or belongs to a recording.
        """
        interval_s = settings.WEIR.judged_every_s + max(
            settings.WEIR.spark_interval_s, settings.WEIR.judged_every_s
        )
        is_forgotten = models.Q(last_seen_at__isnull=True) | models.Q(
            last_seen_at__lt=now - timedelta(seconds=JOB_FORGOTTEN_AFTER_CYCLES * interval_s)
        )
        is_recorded = models.Q(
            cluster__in=Cluster.objects.filter(kind=ClusterKind.RECORDING).values("name")
        )
        is_late = models.Q(judged_at__lt=late_before(now))
        is_unseen = models.Q(cluster__in=Cluster.objects.unseen(now).values("name")) | (
            (is_forgotten | is_late) & ~is_recorded
        )
        is_removed = models.Q(cluster__in=RemovedCluster.objects.values("name"))
        unknown: Any = models.Value(UNKNOWN_STATUS)
        unwatched: Any = models.Value(UNWATCHED_STATUS)
        status = models.Case(
            models.When(OVER, then=models.F("state")),
            models.When(is_removed, then=unwatched),
            models.When(is_unseen | models.Q(state__isnull=True), then=unknown),
            default=models.F("state"),
            output_field=models.CharField(),
        )
        return self.annotate(**{"status": status})


@scoped()
class JobCurrent(JobRow):
    """Serving table ``job_current``. The loader adds ``trouble`` and ``family``,
    :mod:`webapp.findings.job_judgements` health and worst finding,
    :mod:`webapp.storage.auditing.fleet_orphan_bytes` orphans,
    :mod:`webapp.growth.objective_evaluation` burn.
    """

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
    burn = models.FloatField(
        null=True,
        help_text="largest burn of its objectives over the rate that alerts; 1 and more alerts",
    )
    burn_over_min = models.PositiveIntegerField(
        null=True, help_text="minutes of the window that gave burn"
    )
    judged_at = models.DateTimeField(
        null=True, help_text="the instant up to which its data were judged"
    )
    family = models.CharField(
        max_length=300, db_default="", help_text="its name with # for each number or date"
    )
    first_attempt_id = models.CharField(
        max_length=64,
        db_default="",
        help_text="id of the first attempt of this job: see webapp.fleet.attempts",
    )
    is_newest_attempt = models.BooleanField(
        db_default=True, help_text="whether no later attempt of this job is known"
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
            # Covers the totals above the fleet table, so that counting never reads the wide rows.
            models.Index(
                fields=[
                    "is_newest_attempt",
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
            models.Index(fields=["cluster", "first_attempt_id"], name="attempt_of_job"),
            # A search for a part of a name reads only this.
            models.Index(fields=["cluster", "name", "is_newest_attempt", "id"], name="job_of_name"),
            models.Index(fields=["family"], name="job_of_family"),
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

    @property
    def is_over(self) -> bool:
        return bool(self.terminal) or self.state == NOT_LISTED

    @property
    def health_badge(self) -> Badge:
        if self.status in (UNKNOWN_STATUS, UNWATCHED_STATUS):
            return JOB_BADGES[self.status]
        return health_badge(self.health, self.health_state)

    def __str__(self) -> str:
        return f"{self.name or self.job_id} on {self.cluster}"

    @property
    def vertices(self) -> dict[str, dict[str, Any]]:
        """Vertices of its plan by id, in the order of the plan; empty if it is unknown."""
        vertices = (self.graph or {}).get("vertices") or ()
        return {str(vertex["vertex_id"]): vertex for vertex in vertices if vertex.get("vertex_id")}

    @property
    def vertex_names(self) -> dict[str, str]:
        """By id; the id of a vertex without a name."""
        return {key: str(vertex.get("name") or key) for key, vertex in self.vertices.items()}

    @property
    def given_names(self) -> dict[str, str]:
        """Of the vertices that have one, by id."""
        return {key: name for key, name in self.vertex_names.items() if name != key}

    @property
    def edges(self) -> Sequence[dict[str, Any]]:
        """Edges of its plan: ``{source, target, ship_strategy}``; empty if it is unknown."""
        return (self.graph or {}).get("edges") or ()

    @property
    def restored_kind(self) -> str:
        if self.restored_is_savepoint is None:
            return "checkpoint or savepoint"
        return "savepoint" if self.restored_is_savepoint else "checkpoint"
