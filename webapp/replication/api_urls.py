from django.urls import path

from webapp.replication.api.views import ReplicationView

urlpatterns = [
    path(
        "jobs/<name:cluster>/<name:job_id>/replication/",
        ReplicationView.as_view(),
        name="api-job-replication",
    )
]
