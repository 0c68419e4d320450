"""Address of the restores of a job."""

from django.urls import path

from webapp.recovery import views

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/recovery/", views.page, name="recovery")]
