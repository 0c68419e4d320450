"""Growth in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.growth.models import (
    ClusterDay,
    JobGrowth,
    Objective,
    ObjectiveRecord,
    StorageQuota,
    StoredDay,
)


@admin.register(JobGrowth)
class JobGrowthAdmin(ReadOnlyAdmin):
    list_display = (
        "cluster",
        "name",
        "job_id",
        "window_days",
        "state_bytes",
        "state_bytes_per_day",
        "days_to_timeout",
    )
    search_fields = ("job_id", "name")


@admin.register(ClusterDay)
class ClusterDayAdmin(ReadOnlyAdmin):
    list_display = ("cluster", "day", "jobs", "state_bytes", "uploaded_bytes", "unreferenced_bytes")


@admin.register(StoredDay)
class StoredDayAdmin(ReadOnlyAdmin):
    list_display = ("cluster", "job_id", "day", "stored_bytes", "unreferenced_bytes")
    search_fields = ("job_id",)


@admin.register(StorageQuota)
class StorageQuotaAdmin(ReadOnlyAdmin):
    list_display = ("kind", "subject", "quota_bytes", "set_by", "set_at")


@admin.register(Objective)
class ObjectiveAdmin(ReadOnlyAdmin):
    list_display = ("name", "kind", "target", "limit_ms", "cluster", "set_by", "set_at")


@admin.register(ObjectiveRecord)
class ObjectiveRecordAdmin(ReadOnlyAdmin):
    list_display = ("objective", "cluster", "job_name", "burn", "budget_left", "as_of")
