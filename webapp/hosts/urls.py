from django.urls import path

from webapp.hosts import charts, views
from webapp.lib.menu import MenuEntry

MENU = MenuEntry("Hosts", "hosts", of=("host", "taskmanager"))

_TASKMANAGER = "clusters/<name:cluster>/taskmanagers/<name:taskmanager_id>"

urlpatterns = [
    path("hosts/", views.hosts, name="hosts"),
    path("hosts/<name:host>/", views.page, name="host"),
    path("hosts/<name:host>/taskmanagers", views.taskmanagers, name="host-taskmanagers"),
    path("hosts/<name:host>/charts/events", charts.host_events, name="host-chart-events"),
    path(f"{_TASKMANAGER}/", views.taskmanager, name="taskmanager"),
    *(
        path(
            f"{_TASKMANAGER}/charts/{key}",
            charts.taskmanager_samples,
            {"key": key},
            name=f"taskmanager-chart-{key}",
        )
        for key in ("memory", "cpu", "collections")
    ),
]
