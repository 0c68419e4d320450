"""Address of the file system calls of a job below /api/v1/."""

from django.urls import path

from webapp.filesystem_calls.api.views import FilesystemCallsView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/calls/", FilesystemCallsView.as_view(), name="api-job-calls")]
