"""Addresses of the resources of a job, and of all jobs."""

from django.urls import path

from webapp.resources import views

urlpatterns = [
    path("resources/", views.fleet_page, name="fleet-resources"),
    path("resources/tables", views.fleet_tables, name="fleet-resources-tables"),
    path("charts/resources", views.fleet_chart, name="chart-resources"),
    path("jobs/<name:cluster>/<name:job_id>/resources/", views.page, name="resources"),
    path("jobs/<name:cluster>/<name:job_id>/resources/tables", views.tables, name="resources-tables"),
    path("jobs/<name:cluster>/<name:job_id>/charts/resources", views.chart, name="job-chart-resources"),
]
