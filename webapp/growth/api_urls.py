from webapp.growth.api import views
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("growth", views.JobGrowthViews, "api-growth"),
    ("objectives", views.ObjectiveViews, "api-objectives"),
    ("objective-records", views.ObjectiveRecordViews, "api-objective-records"),
)
