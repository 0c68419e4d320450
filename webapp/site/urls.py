"""Addresses of all pages."""

from django.urls import include, path, register_converter

from webapp.analyses.views import urlpatterns as analysis_pages
from webapp.lib.path_names import ExportForm, PathName, PathWhole
from webapp.site import probes
from webapp.site.agents.views import McpView
from webapp.site.views.documentation import documentation
from webapp.site.views.monitoring import download

for name, converter in (("name", PathName), ("whole", PathWhole), ("export_form", ExportForm)):
    register_converter(converter, name)

handler404 = "webapp.lib.not_found.page"
handler500 = "webapp.lib.database_errors.failed"

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
    path("", include("webapp.accounts.urls")),
    path("", include("webapp.site.pipeline_urls")),
    path("", include("webapp.site.incident_urls")),
    path("", include("webapp.site.palette.urls")),
    path("", include("webapp.findings.urls")),
    path("", include("webapp.delivery.urls")),
    path("", include("webapp.alerting.urls")),
    path("", include("webapp.reports.urls")),
    path("", include("webapp.push.urls")),
    path("", include("webapp.cleanup.missing_files.urls")),
    path("", include("webapp.cleanup.urls")),
    path("", include("webapp.growth.urls")),
    path("", include("webapp.replication.urls")),
    path("", include("webapp.storage.urls")),
    path("", include("webapp.checkpoints.urls")),
    path("", include("webapp.pressure.urls")),
    path("", include("webapp.profiles.urls")),
    path("", include("webapp.hosts.urls")),
    path("", include(analysis_pages())),
    path("", include("webapp.job_page.urls")),
    path("", include("webapp.site.page_urls")),
]
