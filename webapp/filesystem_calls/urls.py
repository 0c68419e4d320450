"""Addresses of the file system calls of a job."""

from django.urls import path

from webapp.filesystem_calls import views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/calls/", views.page, name="filesystem-calls"),
    path("jobs/<name:cluster>/<name:job_id>/calls/tables", views.tables, name="filesystem-calls-tables"),
    path("jobs/<name:cluster>/<name:job_id>/charts/calls", views.chart, name="job-chart-calls"),
    path("jobs/<name:cluster>/<name:job_id>/charts/inline", views.threshold_chart, name="job-chart-inline"),
]
