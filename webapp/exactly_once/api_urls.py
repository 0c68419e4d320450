"""Address of a job's transactions below /api/v1/."""

from django.urls import path

from webapp.exactly_once.api.views import TransactionsView

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/exactly-once/", TransactionsView.as_view(), name="api-job-exactly-once")]
