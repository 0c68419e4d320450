"""Addresses of hosts below /api/v1/."""

from django.urls import path

from webapp.hosts.api.views import HostEventViews, HostsView, HostView, JobHostViews
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("host-events", HostEventViews, "api-host-events"),
    ("job-hosts", JobHostViews, "api-job-hosts"),
)

urlpatterns = [
    path("hosts/", HostsView.as_view(), name="api-hosts"),
    path("hosts/<name:host>/", HostView.as_view(), name="api-host"),
]
