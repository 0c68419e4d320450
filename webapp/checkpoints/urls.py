"""Address of one checkpoint: its id and when it was triggered, since ids repeat; and of what all of
a job advise.
"""

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
