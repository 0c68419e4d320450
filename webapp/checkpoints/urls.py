"""Addresses of one checkpoint (its id and trigger, since ids repeat) and of a job's advice."""

from django.urls import path

from webapp.checkpoints import views

urlpatterns = [
    path(
        "jobs/<name:cluster>/<name:job_id>/checkpoints/<whole:checkpoint_id>/<whole:trigger>/",
        views.checkpoint,
        name="checkpoint",
    ),
    path(
        "jobs/<name:cluster>/<name:job_id>/checkpoints/<whole:checkpoint_id>/",
        views.by_id,
        name="checkpoint-by-id",
    ),
    path("jobs/<name:cluster>/<name:job_id>/checkpoints/go", views.go, name="checkpoint-go"),
    path("jobs/<name:cluster>/<name:job_id>/advice", views.advice_section, name="job-advice"),
]
