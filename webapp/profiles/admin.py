"""Thread dumps and flame graphs in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.profiles.models import FlameGraph, StartingThread, ThreadDump


@admin.register(ThreadDump)
class ThreadDumpAdmin(ReadOnlyAdmin):
    list_display = ("wanted_at", "cluster", "taskmanager_id", "state", "taken_at")
    search_fields = ("taskmanager_id",)


@admin.register(StartingThread)
class StartingThreadAdmin(ReadOnlyAdmin):
    list_display = ("at", "cluster", "job_id", "vertex", "subtask", "state", "sentence")
    search_fields = ("job_id",)


@admin.register(FlameGraph)
class FlameGraphAdmin(ReadOnlyAdmin):
    list_display = (
        "wanted_at",
        "cluster",
        "job_id",
        "vertex_id",
        "state",
        "sampled_at",
        "sentence",
    )
    search_fields = ("job_id",)
