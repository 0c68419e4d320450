"""Address of what differs before and after."""

from django.urls import path

from webapp.before_after import views

urlpatterns = [path("jobs/<name:cluster>/<name:job_id>/before-after/", views.page, name="before-after")]
