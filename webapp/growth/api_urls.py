"""Addresses of growth below /api/v1/."""

from django.urls import path

from webapp.growth.api.objectives import ObjectiveRecordViews, ObjectiveViews
from webapp.growth.api.views import GrowthGroupsView, JobGrowthViews, StorageQuotasView
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("growth", JobGrowthViews, "api-growth"),
    ("objectives", ObjectiveViews, "api-objectives"),
    ("objective-records", ObjectiveRecordViews, "api-objective-records"),
)

urlpatterns = [
    path("growth/groups/", GrowthGroupsView.as_view(), name="api-growth-groups"),
    path("growth/quotas/", StorageQuotasView.as_view(), name="api-growth-quotas"),
]
