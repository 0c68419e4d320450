"""Checkpoint facts in the administration."""

from django.contrib import admin

from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.config.readonly_admin import ReadOnlyAdmin


@admin.register(CheckpointFact)
class CheckpointFactAdmin(ReadOnlyAdmin):
    list_display = (
        "trigger_time",
        "cluster",
        "job_id",
        "checkpoint_id",
        "outcome",
        "reason",
        "end_to_end_ms",
    )
    list_filter = ("outcome",)
    search_fields = ("job_id",)


@admin.register(CheckpointRollup)
class CheckpointRollupAdmin(ReadOnlyAdmin):
    list_display = (
        "period_start",
        "period",
        "cluster",
        "job_id",
        "completed_count",
        "failed_count",
        "expired_count",
        "declined_count",
    )
    list_filter = ("period",)
    search_fields = ("job_id",)


@admin.register(CheckpointUpload)
class CheckpointUploadAdmin(ReadOnlyAdmin):
    list_display = (
        "trigger_time",
        "cluster",
        "job_id",
        "checkpoint_id",
        "kept_bytes",
        "same_name_bytes",
        "new_name_bytes",
    )
    search_fields = ("job_id",)


@admin.register(SizeTrend)
class SizeTrendAdmin(ReadOnlyAdmin):
    list_display = ("cluster", "job_id", "bytes_per_h", "from_time", "to_time")
    search_fields = ("job_id",)
