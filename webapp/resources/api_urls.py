"""Addresses of resources below /api/v1/."""

from django.urls import path

from webapp.resources.api.views import FleetResourcesView, ResourcesView

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/resources/", ResourcesView.as_view(), name="api-job-resources"),
    path("resources/", FleetResourcesView.as_view(), name="api-resources"),
]
