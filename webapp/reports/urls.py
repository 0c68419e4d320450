from django.urls import path, re_path

from webapp.lib.menu import MenuEntry
from webapp.reports import views

UID = r"(?P<uid>rep_[a-z0-9]{10,36})"

MENU = MenuEntry("Reports", "reports", of=("report",))

urlpatterns = [
    path("reports/", views.reports, name="reports"),
    path("reports/new/", views.new, name="reports-new"),
    re_path(rf"^reports/{UID}/$", views.report, name="report"),
    re_path(rf"^reports/{UID}/progress$", views.progress, name="report-progress"),
    re_path(rf"^reports/{UID}/delete$", views.delete, name="report-delete"),
    re_path(rf"^reports/{UID}/open$", views.show_file, name="report-open"),
    re_path(
        rf"^reports/{UID}/report\.(?P<form>html|json)$", views.download, name="report-download"
    ),
]
