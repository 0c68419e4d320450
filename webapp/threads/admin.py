"""Thread dumps in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.threads.models import ThreadDump


@admin.register(ThreadDump)
class ThreadDumpAdmin(ReadOnlyAdmin):
    list_display = ("wanted_at", "cluster", "taskmanager_id", "state", "taken_at")
    search_fields = ("taskmanager_id",)
