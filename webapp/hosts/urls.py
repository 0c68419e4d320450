"""Addresses of hosts."""

from django.urls import path

from webapp.hosts import views
from webapp.lib.menu import MenuEntry

MENU = MenuEntry("Hosts", "hosts", key="h", of=("host",))

urlpatterns = [
    path("hosts/", views.hosts, name="hosts"),
    path("hosts.<export_form:form>", views.hosts_export, name="hosts-export"),
    path("hosts/<name:host>/", views.page, name="host"),
    path("hosts/<name:host>/taskmanagers", views.taskmanagers, name="host-taskmanagers"),
    path("hosts/<name:host>/events.<export_form:form>", views.export, name="host-events-export"),
]
