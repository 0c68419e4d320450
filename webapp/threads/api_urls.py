"""Address of a job's threads below /api/v1/."""

from django.urls import path

from webapp.threads.api.views import ThreadsView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/threads/", ThreadsView.as_view(), name="api-job-threads")]
