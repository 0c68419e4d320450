"""Addresses of the file system calls of a job, and of all jobs."""

from django.urls import path

from webapp.filesystem_calls import fleet_views, views

urlpatterns = [
    path("filesystem-calls/", fleet_views.page, name="fleet-filesystem-calls"),
    path("filesystem-calls/tables", fleet_views.tables, name="fleet-filesystem-calls-tables"),
    path("charts/filesystem-calls", fleet_views.chart, name="chart-filesystem-calls"),
    path("jobs/<name:cluster>/<name:job_id>/calls/", views.page, name="filesystem-calls"),
    path("jobs/<name:cluster>/<name:job_id>/calls/tables", views.tables, name="filesystem-calls-tables"),
    path("jobs/<name:cluster>/<name:job_id>/charts/calls", views.chart, name="job-chart-calls"),
    path("jobs/<name:cluster>/<name:job_id>/charts/inline", views.threshold_chart, name="job-chart-inline"),
]
