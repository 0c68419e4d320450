"""Address of a job's data in flight below /api/v1/."""

from django.urls import path

from webapp.in_flight.api.views import InFlightView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/in-flight/", InFlightView.as_view(), name="api-job-in-flight")]
