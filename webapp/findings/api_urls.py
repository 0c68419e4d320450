from webapp.findings.api.views import FindingViews
from webapp.lib.api.routes import Routes

ROUTES: Routes = (("findings", FindingViews, "api-findings"),)
