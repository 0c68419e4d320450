from django.db import models

from webapp.growth.sorting import SORTS
from webapp.lib.scoped_rows import JobRow, scoped


@scoped()
class JobGrowth(JobRow):
    """:func:`webapp.growth.trends.figures` of one job under all its ids, over one window.

    ``job_id`` is that of its newest attempt.
    """

    name = models.CharField(max_length=300, null=True)
    attempts = models.JSONField(help_text="its ids, the newest first")
    ended = models.BooleanField()
    window_days = models.PositiveSmallIntegerField()
    timeout_ms = models.BigIntegerField(null=True)
    known_days = models.PositiveSmallIntegerField()
    state_bytes = models.FloatField(null=True)
    state_bytes_per_day = models.FloatField(null=True)
    state_bytes_per_day_low = models.FloatField(null=True)
    state_bytes_per_day_high = models.FloatField(null=True)
    uploaded_bytes = models.FloatField(null=True)
    duration_ms_per_day = models.FloatField(null=True)
    days_to_timeout = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "window_days"], name="job_growth_key"
            )
        ]
        indexes = [*(sort.index() for sort in SORTS.values())]


@scoped()
class Objective(models.Model):
    """A promise to users of jobs: for each job whose labels match, at least the share ``target`` of
    the time (or of the checkpoints) of 30 days is good. ``kind``: a key of
    :data:`spark_jobs.diagnosis.objective_samples.OBJECTIVE_KINDS`.
    """

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=16)
    target = models.FloatField(help_text="share that has to be good, such as 0.999")
    limit_ms = models.BigIntegerField(
        null=True, help_text="good at most, of a recovery point or of freshness"
    )
    matchers = models.JSONField(default=list, help_text="as silences have them; none: all jobs")
    cluster = models.CharField(
        max_length=100,
        blank=True,
        editable=False,
        help_text="that its matchers name; who sees it, sees this",
    )
    set_by = models.CharField(max_length=200)
    set_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def target_text(self) -> str:
        return f"{self.target * 100:.7g} %"


@scoped()
class ObjectiveRecord(models.Model):
    """How one job met one objective: good and bad units (minutes, checkpoints, or seconds of
    availability) by minute and by hour (:mod:`webapp.growth.objectives`).
    """

    objective = models.ForeignKey(Objective, on_delete=models.CASCADE, related_name="records")
    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64, help_text="of its newest attempt")
    first_attempt_id = models.CharField(max_length=64)
    job_name = models.CharField(max_length=300)
    minutes = models.JSONField(default=list, help_text="[[epoch minute, good, bad]]")
    hours = models.JSONField(default=list, help_text="[[epoch hour, good, bad]]")
    sums = models.JSONField(
        default=list, help_text="HourSums of webapp.growth.objectives, of the newest hour"
    )
    burn = models.FloatField(
        null=True, help_text="largest burn rate over the factor that alerts; 1 and more alerts"
    )
    burn_over_min = models.PositiveIntegerField(
        null=True, help_text="minutes of the window that gave burn"
    )
    budget_left = models.FloatField(
        null=True, help_text="share of the error budget of 30 days; negative: overdrawn"
    )
    value_ms = models.FloatField(null=True, help_text="what the limit is compared with")
    is_good = models.BooleanField(null=True, help_text="in its newest minute; null: unknown")
    as_of = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["objective", "cluster", "first_attempt_id"], name="objective_record_key"
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "first_attempt_id"], name="objective_of_job"),
            models.Index(fields=["budget_left"], name="objective_budget"),
        ]

    def __str__(self) -> str:
        return f"{self.objective} of {self.job_name}"
