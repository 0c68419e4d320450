"""Addresses of alerts below /api/v1/."""

from webapp.alerting.api.incident_views import IncidentViews
from webapp.alerting.api.views import (
    AlertViews,
    MaintenanceWindowViews,
    RuleSettingViews,
    SilenceViews,
    ThresholdViews,
)
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("incidents", IncidentViews, "api-incidents"),
    ("alerts", AlertViews, "api-alerts"),
    ("silences", SilenceViews, "api-silences"),
    ("maintenance-windows", MaintenanceWindowViews, "api-maintenance-windows"),
    ("rule-settings", RuleSettingViews, "api-rule-settings"),
    ("thresholds", ThresholdViews, "api-thresholds"),
)
