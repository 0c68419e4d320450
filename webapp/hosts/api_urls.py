"""Addresses of hosts below /api/v1/."""

from django.urls import path

from webapp.hosts.api.views import (
    HostEventViews,
    HostsView,
    HostView,
    JobHostViews,
    TaskManagerLifeViews,
)
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("host-events", HostEventViews, "api-host-events"),
    ("job-hosts", JobHostViews, "api-job-hosts"),
    ("taskmanager-lives", TaskManagerLifeViews, "api-taskmanager-lives"),
)

urlpatterns = [
    path("hosts/", HostsView.as_view(), name="api-hosts"),
    path("hosts/<name:host>/", HostView.as_view(), name="api-host"),
]
