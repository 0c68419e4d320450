from webapp.alerting.api.incident_views import IncidentViews
from webapp.alerting.api.views import (
    AlertViews,
    SilenceViews,
)
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("incidents", IncidentViews, "api-incidents"),
    ("alerts", AlertViews, "api-alerts"),
    ("silences", SilenceViews, "api-silences"),
)
