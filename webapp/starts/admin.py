"""Starts of jobs in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.starts.models import JobStart


@admin.register(JobStart)
class JobStartAdmin(ReadOnlyAdmin):
    list_display = ("at", "kind", "cluster", "job_id", "total_ms", "tasks", "stragglers")
    search_fields = ("job_id",)
