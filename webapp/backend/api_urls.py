"""Address of a job's state backend below /api/v1/."""

from django.urls import path

from webapp.backend.api.views import BackendView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/backend/", BackendView.as_view(), name="api-job-backend")]
