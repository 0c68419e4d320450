"""Addresses of the file system calls of a job, and of all jobs, below /api/v1/."""

from django.urls import path

from webapp.filesystem_calls.api.fleet_views import FleetCallsView
from webapp.filesystem_calls.api.views import FilesystemCallsView

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/calls/", FilesystemCallsView.as_view(), name="api-job-calls"),
    path("filesystem-calls/", FleetCallsView.as_view(), name="api-filesystem-calls"),
]
