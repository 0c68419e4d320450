"""Address of the what-if page: a job, and a rule."""

from django.urls import path

from webapp.alerting.what_if import views

urlpatterns = [
    path(
        "jobs/<name:cluster>/<name:job_id>/what-if/<name:rule_id>/", views.what_if, name="what-if"
    ),
]
