"""Addresses of vertices."""

from django.urls import path

from webapp.flame_graphs import views

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/vertices/<name:vertex_id>/", views.vertex, name="vertex"),
    path("jobs/<name:cluster>/<name:job_id>/vertices/<name:vertex_id>/flame-graph/", views.ask, name="vertex-flame-graph"),
]
