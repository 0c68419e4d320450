"""Address of the data in flight of a job."""

from django.urls import path

from webapp.in_flight.views import page

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/in-flight/", page, name="in-flight")]
