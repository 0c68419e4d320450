from django.urls import path

from webapp.replication import views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/replication/", views.page, name="replication"),
    path(
        "jobs/<name:cluster>/<name:job_id>/replication/tables",
        views.tables,
        name="replication-tables",
    ),
    path("jobs/<name:cluster>/<name:job_id>/replication/ask", views.ask, name="replication-ask"),
    path(
        "jobs/<name:cluster>/<name:job_id>/replication/order", views.order, name="replication-order"
    ),
]
