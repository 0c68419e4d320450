from webapp.cleanup.api import CleanupPlanViews
from webapp.lib.api.routes import Routes

ROUTES: Routes = (("cleanup-plans", CleanupPlanViews, "api-cleanup-plans"),)
