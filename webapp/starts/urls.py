"""Addresses of the starts of a job."""

from django.urls import path

from webapp.starts import views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/starts/", views.page, name="starts"),
    path("jobs/<name:cluster>/<name:job_id>/starts/tables", views.tables, name="starts-tables"),
    path("jobs/<name:cluster>/<name:job_id>/charts/starts", views.chart, name="job-chart-starts"),
]
