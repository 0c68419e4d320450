"""The pipeline's own rows in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.work.models import DueWork, Manifest, PipelineAlarm, PipelineRun, RolledUp, SkippedInput


@admin.register(DueWork)
class DueWorkAdmin(ReadOnlyAdmin):
    list_display = ("key", "next_attempt_at", "lease_until", "failures", "last_success_at")


@admin.register(PipelineRun)
class PipelineRunAdmin(ReadOnlyAdmin):
    list_display = ("started_at", "key", "state", "duration_ms", "attempt")
    list_filter = ("kind", "state")


@admin.register(Manifest)
class ManifestAdmin(ReadOnlyAdmin):
    list_display = ("attempt", "state", "created_at", "loaded_at")
    list_filter = ("state",)


@admin.register(RolledUp)
class RolledUpAdmin(ReadOnlyAdmin):
    list_display = ("table", "to_seq", "loaded_at")


@admin.register(PipelineAlarm)
class PipelineAlarmAdmin(ReadOnlyAdmin):
    list_display = ("code", "subject", "since", "cleared_at")
    list_filter = ("code",)


@admin.register(SkippedInput)
class SkippedInputAdmin(ReadOnlyAdmin):
    list_display = ("observed_at", "cluster", "subject", "reason")
    list_filter = ("reason",)
