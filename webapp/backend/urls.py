"""Address of the state backend of a job."""

from django.urls import path

from webapp.backend.views import page

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/backend/", page, name="backend")]
