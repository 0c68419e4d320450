"""Clusters and jobs in the administration.

Clusters are changed on their own pages, where secrets are handled.
"""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobException, JobStart, LogEvent
from webapp.fleet.models.cluster import SECRETS


@admin.register(Cluster)
class ClusterAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "kind",
        "enabled",
        "shard",
        "last_success_at",
        "consecutive_failures",
        "unreachable_since",
        "flink_version",
    )
    list_filter = ("kind", "enabled")
    search_fields = ("name",)
    exclude = (*SECRETS, "cursor")


@admin.register(JobCurrent)
class JobCurrentAdmin(ReadOnlyAdmin):
    list_display = ("name", "cluster", "job_id", "state", "trouble", "last_seen_at")
    list_filter = ("state",)
    search_fields = ("job_id",)


@admin.register(LogEvent)
class LogEventAdmin(ReadOnlyAdmin):
    list_display = ("ts", "cluster", "job_id", "kind", "reason", "host")
    search_fields = ("job_id",)


@admin.register(JobException)
class JobExceptionAdmin(ReadOnlyAdmin):
    list_display = ("ts", "cluster", "job_id", "exception_name", "is_root")
    search_fields = ("job_id",)


@admin.register(JobAnnotation)
class JobAnnotationAdmin(ReadOnlyAdmin):
    list_display = ("at", "cluster", "job_id", "kind", "label")
    search_fields = ("job_id",)


@admin.register(JobStart)
class JobStartAdmin(ReadOnlyAdmin):
    list_display = ("at", "kind", "cluster", "job_id", "total_ms", "tasks", "stragglers")
    search_fields = ("job_id",)
