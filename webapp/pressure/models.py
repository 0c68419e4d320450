"""Buffer pressure, one row per vertex and window; throughput, one per vertex and hour."""

from django.db import models

from webapp.lib.scoped_rows import JobRow, scoped


@scoped()
class PressureWindow(JobRow):
    """Serving table ``pressure_window``: buffer usage and time metrics of one vertex."""

    vertex_id = models.CharField(max_length=64)
    window_start = models.DateTimeField()
    window_s = models.BigIntegerField()
    vertex_name = models.TextField(null=True)
    parallelism = models.BigIntegerField(null=True)
    samples = models.BigIntegerField()
    in_pool_p50 = models.FloatField(null=True)
    in_pool_max = models.FloatField(null=True)
    in_pool_mean = models.FloatField(null=True)
    out_pool_p50 = models.FloatField(null=True)
    out_pool_max = models.FloatField(null=True)
    out_pool_mean = models.FloatField(null=True)
    busy_ms_per_s_p50 = models.FloatField(null=True)
    busy_ms_per_s_max = models.FloatField(null=True)
    busy_ms_per_s_mean = models.FloatField(null=True)
    backpressured_ms_per_s_p50 = models.FloatField(null=True)
    backpressured_ms_per_s_max = models.FloatField(null=True)
    backpressured_ms_per_s_mean = models.FloatField(null=True)
    idle_ms_per_s_p50 = models.FloatField(null=True)
    idle_ms_per_s_max = models.FloatField(null=True)
    idle_ms_per_s_mean = models.FloatField(null=True)
    backpressured_share = models.FloatField(null=True)
    busy_share = models.FloatField(null=True)
    records_in_per_s = models.FloatField(null=True)
    records_out_per_s = models.FloatField(null=True)
    records_in_max_over_median = models.FloatField(null=True)
    watermark_ms = models.BigIntegerField(null=True)
    pending_records = models.FloatField(null=True)
    pending_records_max = models.FloatField(null=True)
    pending_subtasks = models.BigIntegerField(null=True)
    most_pending_subtask = models.BigIntegerField(null=True)
    records_lag_max = models.FloatField(null=True)
    fetch_lag_ms = models.FloatField(null=True)
    emit_lag_ms = models.FloatField(null=True)
    watermark_lag_ms = models.FloatField(null=True)
    source_idle_ms = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "vertex_id", "window_start", "window_s"],
                name="pressure_window_key",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "job_id", "window_start"], name="pressure_of_job"),
            models.Index(fields=["window_start"], name="pressure_age"),
        ]


@scoped()
class VertexHour(JobRow):
    """Records read and emitted by one vertex in one hour, summed up from its measured windows."""

    vertex_id = models.CharField(max_length=64)
    period_start = models.DateTimeField()
    vertex_name = models.TextField(null=True)
    windows = models.PositiveSmallIntegerField(help_text="measured windows of a minute")
    records_in = models.FloatField(null=True, help_text="in the measured windows")
    records_out = models.FloatField(null=True, help_text="in the measured windows")
    records_in_per_s = models.FloatField(null=True, help_text="mean of the measured windows")
    records_in_per_s_max = models.FloatField(null=True, help_text="busiest window")
    records_out_per_s = models.FloatField(null=True, help_text="mean of the measured windows")
    records_out_per_s_max = models.FloatField(null=True, help_text="busiest window")
    pending_records_max = models.FloatField(
        null=True, help_text="of a source: most records that it had not read"
    )
    emit_lag_ms_max = models.FloatField(null=True, help_text="of a source: largest event-time lag")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "vertex_id", "period_start"], name="vertex_hour_key"
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "job_id", "period_start"], name="vertex_hour_of_job"),
            models.Index(fields=["period_start"], name="vertex_hour_age"),
        ]
