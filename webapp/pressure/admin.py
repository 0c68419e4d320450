"""Pressure windows in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.pressure.models import PressureWindow, VertexHour


@admin.register(PressureWindow)
class PressureWindowAdmin(ReadOnlyAdmin):
    list_display = (
        "window_start",
        "window_s",
        "cluster",
        "job_id",
        "vertex_name",
        "backpressured_share",
        "busy_share",
    )
    search_fields = ("job_id",)


@admin.register(VertexHour)
class VertexHourAdmin(ReadOnlyAdmin):
    list_display = (
        "period_start",
        "cluster",
        "job_id",
        "vertex_name",
        "records_in_per_s",
        "records_out_per_s",
    )
    search_fields = ("job_id",)
