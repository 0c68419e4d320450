from django.urls import path

from webapp.job_page import charts, views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/", views.job, name="job"),
    path(
        "jobs/<name:cluster>/<name:job_id>/checkpoints.csv",
        views.checkpoints_export,
        name="job-checkpoints-export",
    ),
    path("jobs/<name:cluster>/<name:job_id>/charts/strip", charts.strip, name="job-chart-strip"),
]
