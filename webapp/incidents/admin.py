"""Incidents in the administration, to look at."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.incidents.models import Incident


@admin.register(Incident)
class IncidentAdmin(ReadOnlyAdmin):
    list_display = ("began_at", "state", "severity", "rule", "cluster", "job_name", "title")
    list_filter = ("state", "severity", "rule")
    search_fields = ("uid", "job_id", "job_name")
