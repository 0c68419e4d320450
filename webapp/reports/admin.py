"""Reports in the admin: to look at."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.reports.models import IncidentReport


@admin.register(IncidentReport)
class IncidentReportAdmin(ReadOnlyAdmin):
    list_display = ("uid", "kind", "title", "state", "author_name", "asked_at")
    exclude = ("document",)
