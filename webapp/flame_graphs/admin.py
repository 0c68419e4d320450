"""Flame graphs in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.flame_graphs.models import FlameGraph


@admin.register(FlameGraph)
class FlameGraphAdmin(ReadOnlyAdmin):
    list_display = ("wanted_at", "cluster", "job_id", "vertex_id", "state", "sampled_at", "sentence")
    search_fields = ("job_id",)
