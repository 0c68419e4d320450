from webapp.fleet.api.views import (
    ClusterViews,
    JobAnnotationViews,
    JobExceptionViews,
    JobViews,
    LogEventViews,
)
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("clusters", ClusterViews, "api-clusters"),
    ("jobs", JobViews, "api-jobs"),
    ("log-events", LogEventViews, "api-log-events"),
    ("exceptions", JobExceptionViews, "api-exceptions"),
    ("annotations", JobAnnotationViews, "api-annotations"),
)
