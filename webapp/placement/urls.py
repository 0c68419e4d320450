"""Addresses of the placement of a job."""

from django.urls import path

from webapp.placement import views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/placement/", views.page, name="placement"),
    path("jobs/<name:cluster>/<name:job_id>/placement/tables", views.tables, name="placement-tables"),
    path("jobs/<name:cluster>/<name:job_id>/charts/placement", views.chart, name="job-chart-placement"),
]
