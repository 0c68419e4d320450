"""Alerts in the administration, to look at."""

from django.contrib import admin

from webapp.alerting.models import Alert, MaintenanceWindow, RuleSetting, Silence
from webapp.config.readonly_admin import ReadOnlyAdmin


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    list_display = ("uid", "state", "severity", "rule", "cluster", "job_id", "title", "starts_at")
    list_filter = ("state", "severity", "rule")
    search_fields = ("uid", "job_id", "job_name")


@admin.register(Silence)
class SilenceAdmin(ReadOnlyAdmin):
    list_display = ("starts_at", "ends_at", "author_name", "reason", "ended_name")


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ReadOnlyAdmin):
    list_display = ("starts_at", "ends_at", "weekday", "author_name", "reason", "ended_name")


@admin.register(RuleSetting)
class RuleSettingAdmin(ReadOnlyAdmin):
    list_display = (
        "rule",
        "cluster",
        "job_id",
        "severity",
        "alerts",
        "hold_before_s",
        "hold_after_s",
        "author_name",
        "changed_at",
    )
