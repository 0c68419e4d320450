"""Copies in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.replication.models import Replica


@admin.register(Replica)
class ReplicaAdmin(ReadOnlyAdmin):
    exclude = ("asker_clusters",)  # whoever sees the job need not see these
    list_display = (
        "cluster",
        "job_id",
        "destination",
        "enabled",
        "checkpoint_id",
        "completed_at",
        "trouble",
    )
    search_fields = ("job_id", "destination")
