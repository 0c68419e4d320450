"""Address of one checkpoint: its id and when it was triggered, since ids repeat."""

from django.urls import path

from webapp.checkpoints import views

urlpatterns = [
    path("jobs/<str:cluster>/<str:job_id>/checkpoints/<int:checkpoint_id>/<int:trigger>/", views.checkpoint, name="checkpoint"),
]
