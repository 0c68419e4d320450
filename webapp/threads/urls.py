"""Addresses of the threads of a job."""

from django.urls import path

from webapp.threads import views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/threads/", views.page, name="threads"),
    path("jobs/<name:cluster>/<name:job_id>/threads/tables", views.tables, name="threads-tables"),
    path("jobs/<name:cluster>/<name:job_id>/threads/ask", views.ask, name="threads-ask"),
]
