from django.urls import path

from webapp.fleet.api.views import (
    ClusterViews,
    JobAnnotationViews,
    JobExceptionViews,
    JobViews,
    LogEventViews,
    SourceViews,
    UnknownCausesView,
    UnreadLinesView,
)
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("clusters", ClusterViews, "api-clusters"),
    ("sources", SourceViews, "api-sources"),
    ("jobs", JobViews, "api-jobs"),
    ("log-events", LogEventViews, "api-log-events"),
    ("exceptions", JobExceptionViews, "api-exceptions"),
    ("annotations", JobAnnotationViews, "api-annotations"),
)

urlpatterns = [
    path("unread-lines/", UnreadLinesView.as_view(), name="api-unread-lines"),
    path("unknown-causes/", UnknownCausesView.as_view(), name="api-unknown-causes"),
]
