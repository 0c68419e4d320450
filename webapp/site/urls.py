"""Addresses of all pages."""

from django.urls import include, path, register_converter

from webapp.analyses.views import urlpatterns as analysis_pages
from webapp.lib.path_names import PathName, PathWhole
from webapp.site import probes
from webapp.site.agents.views import McpView
from webapp.site.views.documentation import documentation
from webapp.site.views.monitoring import download

register_converter(PathName, "name")
register_converter(PathWhole, "whole")

handler404 = "webapp.lib.not_found.page"
handler500 = "webapp.site.probes.failed"

PAGES = (
    "webapp.accounts.urls",
    "webapp.site.pipeline_urls",
    "webapp.site.incident_urls",
    "webapp.site.palette.urls",
    "webapp.findings.urls",
    "webapp.delivery.urls",
    "webapp.alerting.urls",
    "webapp.reports.urls",
    "webapp.push.urls",
    "webapp.cleanup.missing_files.urls",
    "webapp.cleanup.urls",
    "webapp.growth.urls",
    "webapp.replication.urls",
    "webapp.storage.urls",
    "webapp.checkpoints.urls",
    "webapp.pressure.urls",
    "webapp.profiles.urls",
    "webapp.hosts.urls",
)
urlpatterns = [
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("metrics", probes.metrics),
    path("metrics/jobs", probes.job_metrics),
    path("monitoring/<str:file>", download, name="monitoring-file"),
    path("mcp", McpView.as_view(), name="mcp"),
    path("docs/", documentation, name="documentation"),
    path("docs/<path:rest>", documentation),
    path("api/v1/", include("webapp.site.api_urls")),
    *(path("", include(module)) for module in PAGES),
    path("", include(analysis_pages())),
    path("", include("webapp.job_page.urls")),
    path("", include("webapp.site.page_urls")),
]
