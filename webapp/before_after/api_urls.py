"""Address of before and after below /api/v1/."""

from django.urls import path

from webapp.before_after.api.views import BeforeAfterView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/before-after/", BeforeAfterView.as_view(), name="api-job-before-after")]
