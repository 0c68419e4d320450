from django.urls import path

from webapp.pressure import views

_VERTEX = "jobs/<name:cluster>/<name:job_id>/vertices/<name:vertex_id>"

urlpatterns = [
    path(f"{_VERTEX}/subtasks", views.subtasks, name="vertex-subtasks"),
    *(
        path(f"{_VERTEX}/charts/{key}", views.chart, {"key": key}, name=f"vertex-chart-{key}")
        for key in views.CHARTS
    ),
]
