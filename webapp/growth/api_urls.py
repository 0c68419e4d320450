"""Addresses of growth below /api/v1/."""

from webapp.growth.api.views import JobGrowthViews, ObjectiveRecordViews, ObjectiveViews
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("growth", JobGrowthViews, "api-growth"),
    ("objectives", ObjectiveViews, "api-objectives"),
    ("objective-records", ObjectiveRecordViews, "api-objective-records"),
)
