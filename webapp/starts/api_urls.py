"""Address of a job's starts below /api/v1/."""

from django.urls import path

from webapp.starts.api.views import StartsView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/starts/", StartsView.as_view(), name="api-job-starts")]
