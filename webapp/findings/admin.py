"""Findings in the administration; thresholds can be changed there."""

from django.contrib import admin
from django.http import HttpRequest

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.findings.models import Finding, ThresholdOverride


@admin.register(Finding)
class FindingAdmin(ReadOnlyAdmin):
    list_display = ("last_seen", "state", "severity", "rule", "cluster", "job_id", "title")
    list_filter = ("state", "severity", "rule")
    search_fields = ("job_id", "job_name")


@admin.register(ThresholdOverride)
class ThresholdOverrideAdmin(admin.ModelAdmin):
    list_display = ("key", "value", "cluster", "job_id", "author", "changed_at")
    exclude = ("author",)

    def save_model(
        self, request: HttpRequest, obj: ThresholdOverride, form: object, change: bool
    ) -> None:
        obj.author = request.user  # type: ignore[assignment]  # only people who signed in get here
        obj.save()
