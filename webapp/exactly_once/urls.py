"""Address of the transactions of a job."""

from django.urls import path

from webapp.exactly_once.views import page

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/exactly-once/", page, name="exactly-once")]
