"""Roots and audits in the administration."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.storage.models import StorageAudit, StorageRoot


@admin.register(StorageRoot)
class StorageRootAdmin(ReadOnlyAdmin):
    list_display = ("uri", "kind", "enabled", "read_at", "attested_name", "attested_at")
    list_filter = ("kind", "enabled")


@admin.register(StorageAudit)
class StorageAuditAdmin(ReadOnlyAdmin):
    list_display = ("audit_id", "state", "purpose", "as_of", "finished_at")
    list_filter = ("state", "purpose")
