from webapp.lib.api.routes import Routes
from webapp.reports.api import ReportViews

ROUTES: Routes = (("reports", ReportViews, "api-reports"),)
