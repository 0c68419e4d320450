"""Roots and checkpoints are identified by URIs in query parameters, because URIs contain slashes."""

from django.urls import path

from webapp.accounts.guards import whole_fleet_only
from webapp.lib.menu import MenuEntry
from webapp.storage.views import (
    files,
    overview,
    root,
    roots,
    statements,
    xray,
)

_ANALYSES = ("filesystem-calls", "object-stores", "readiness")
MENU = MenuEntry(
    "Storage",
    "storage",
    of=("storage", "cleanup", "growth", "missing-file", *map("fleet-{}".format, _ANALYSES)),
)

urlpatterns = [
    path("storage/", overview.storage, name="storage"),
    path("storage/audit-now", whole_fleet_only(roots.audit_now), name="storage-audit-now"),
    path("storage/charts/history", overview.over_time, name="storage-chart-history"),
    path("storage/files/", files.files, name="storage-files"),
    path("storage/files/export.csv", files.export, name="storage-files-export"),
    path("storage/root/", root.root, name="storage-root"),
    path("storage/roots/add", whole_fleet_only(roots.add), name="storage-root-add"),
    path("storage/roots/<int:pk>/", roots.edit, name="storage-root-edit"),
    path("storage/roots/<int:pk>/attest", roots.attest, name="storage-root-attest"),
    path("storage/roots/<int:pk>/remove", roots.remove, name="storage-root-remove"),
    path("storage/statements/make", whole_fleet_only(statements.make), name="storage-statement"),
    path(
        "storage/statements/<int:pk>/end",
        whole_fleet_only(statements.end),
        name="storage-statement-end",
    ),
    path("storage/xray/", xray.xray, name="storage-xray"),
]
