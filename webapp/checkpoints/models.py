from django.db import models

from webapp.lib.scoped_rows import JobRow, scoped


@scoped()
class CheckpointFact(JobRow):
    """Serving table ``checkpoint_fact``: one checkpoint or savepoint, from REST and log together."""

    checkpoint_id = models.BigIntegerField()
    trigger_time = models.DateTimeField()
    is_savepoint = models.BooleanField(null=True)
    savepoint_format = models.CharField(max_length=32, null=True)
    checkpoint_type = models.CharField(max_length=64, null=True)
    outcome = models.CharField(max_length=32)
    final = models.BooleanField()
    reason = models.CharField(max_length=200, null=True)
    reason_text = models.TextField(null=True)
    end_time = models.DateTimeField(null=True)
    end_to_end_ms = models.BigIntegerField(null=True)
    state_bytes = models.BigIntegerField(null=True)
    checkpointed_bytes = models.BigIntegerField(null=True)
    processed_bytes = models.BigIntegerField(null=True)
    persisted_bytes = models.BigIntegerField(null=True)
    subtasks = models.BigIntegerField(null=True)
    acknowledged = models.BigIntegerField(null=True)
    external_path = models.TextField(null=True)
    discarded = models.BooleanField(null=True)
    start_delay_ms = models.BigIntegerField(null=True)
    alignment_ms = models.BigIntegerField(null=True)
    sync_ms = models.BigIntegerField(null=True)
    async_ms = models.BigIntegerField(null=True)
    unaligned = models.BooleanField(null=True)
    dominant_phase = models.CharField(max_length=32, null=True)
    slowest_vertex_id = models.CharField(max_length=64, null=True)
    slowest_vertex_name = models.TextField(null=True)
    slowest_subtask = models.BigIntegerField(null=True)
    slowest_host = models.TextField(null=True)
    slowest_end_to_end_ms = models.BigIntegerField(null=True)
    slowest_start_delay_ms = models.BigIntegerField(null=True)
    slowest_alignment_ms = models.BigIntegerField(null=True)
    slowest_sync_ms = models.BigIntegerField(null=True)
    slowest_async_ms = models.BigIntegerField(null=True)
    source_start_delay_ms = models.BigIntegerField(null=True)
    latest_source_id = models.CharField(max_length=64, null=True)
    latest_source_subtask = models.BigIntegerField(null=True)
    uploaded_ratio = models.FloatField(null=True)
    declines = models.JSONField(null=True)
    not_acknowledged = models.JSONField(null=True)
    late_message_count = models.BigIntegerField(null=True)
    late_messages = models.JSONField(null=True)
    failure_message = models.TextField(null=True)
    exception = models.TextField(null=True)
    sources = models.CharField(max_length=32, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "checkpoint_id", "trigger_time"],
                name="checkpoint_fact_key",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "job_id", "trigger_time", "id"], name="fact_of_job"),
            models.Index(fields=["trigger_time"], name="fact_age"),
            # Savepoints of any age are few among checkpoints.
            models.Index(
                fields=["id"], name="fact_savepoint", condition=models.Q(is_savepoint=True)
            ),
        ]

    @property
    def has_slowest(self) -> bool:
        """Whether the slowest subtask is known."""
        return self.slowest_end_to_end_ms is not None

    @property
    def shown_phases_ms(self) -> list[tuple[str, int | None]]:
        """Of the slowest subtask, or the largest of any subtask if it is unknown."""
        from spark_jobs.serving import PHASES  # here, so that commands start faster

        prefix = "slowest_" if self.has_slowest else ""
        return [(phase, getattr(self, f"{prefix}{phase}_ms")) for phase in PHASES]


@scoped()
class CheckpointRollup(JobRow):
    """Serving table ``checkpoint_rollup``: checkpoints of one job in one hour or day."""

    period = models.CharField(max_length=16)
    period_start = models.DateTimeField()
    completed_count = models.BigIntegerField()
    declined_count = models.BigIntegerField()
    expired_count = models.BigIntegerField()
    subsumed_count = models.BigIntegerField()
    aborted_count = models.BigIntegerField()
    failed_count = models.BigIntegerField()
    preflight_count = models.BigIntegerField()
    in_progress_count = models.BigIntegerField()
    savepoint_count = models.BigIntegerField()
    preflight_refusals = models.BigIntegerField(null=True)
    end_to_end_p95_ms = models.FloatField(null=True)
    state_bytes_last = models.BigIntegerField(null=True)
    checkpointed_bytes_sum = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "period", "period_start"], name="checkpoint_rollup_key"
            )
        ]
        indexes = [
            models.Index(fields=["period", "period_start"], name="rollup_age"),
            # Days are few among hours, and read of whole clusters.
            models.Index(
                fields=["cluster", "period_start"],
                name="rollup_days",
                condition=models.Q(period="day"),
            ),
        ]


@scoped()
class CheckpointUpload(JobRow):
    """Serving table ``checkpoint_upload``: a checkpoint's upload by the names of RocksDB files."""

    checkpoint_id = models.BigIntegerField()
    trigger_time = models.DateTimeField()
    compared_with = models.TextField(null=True)
    kept_bytes = models.BigIntegerField(null=True)
    same_name_bytes = models.BigIntegerField(null=True)
    new_name_bytes = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "checkpoint_id", "trigger_time"],
                name="checkpoint_upload_key",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "job_id", "as_of"], name="upload_of_job"),
            models.Index(fields=["as_of"], name="upload_age"),
        ]


@scoped()
class SizeTrend(JobRow):
    """Serving table ``size_trend``: growth of a job's full state since its last change point."""

    from_time = models.DateTimeField(null=True)
    to_time = models.DateTimeField(null=True)
    points = models.BigIntegerField(null=True)
    bytes_per_h = models.FloatField(null=True)
    bytes_per_h_low = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id"], name="size_trend_key")]
