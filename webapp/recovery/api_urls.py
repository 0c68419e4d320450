"""Address of the restores of a job below /api/v1/."""

from django.urls import path

from webapp.recovery.api.views import RecoveryView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/recovery/", RecoveryView.as_view(), name="api-job-recovery")]
