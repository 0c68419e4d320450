"""Address of a placement below /api/v1/."""

from django.urls import path

from webapp.placement.api.views import PlacementView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/placement/", PlacementView.as_view(), name="api-job-placement")]
