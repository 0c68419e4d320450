"""URLs below /api/v1/: those of every feature, a job with data of several features, and the OpenAPI
document.
"""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.routers import SimpleRouter

from webapp.alerting import api_urls as alerting
from webapp.analyses.api import urlpatterns as analyses_api
from webapp.checkpoints import api_urls as checkpoints
from webapp.cleanup import api_urls as cleanup
from webapp.findings import api_urls as findings
from webapp.fleet import api_urls as fleet
from webapp.growth import api_urls as growth
from webapp.hosts import api_urls as hosts
from webapp.job_page.api import JobDetailView
from webapp.lib.api.errors import no_such_address
from webapp.pressure import api_urls as pressure
from webapp.push import api_urls as push
from webapp.replication import api_urls as replication
from webapp.reports import api_urls as reports
from webapp.storage import api_urls as storage

router = SimpleRouter()
for feature in (
    fleet,
    checkpoints,
    pressure,
    findings,
    alerting,
    storage,
    reports,
    cleanup,
    growth,
    hosts,
):
    for prefix, views, name in feature.ROUTES:
        router.register(prefix, views, name)

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/", JobDetailView.as_view(), name="api-job"),
    *push.urlpatterns,
    *analyses_api(),
    *replication.urlpatterns,
    *storage.urlpatterns,
    *router.urls,
    path("schema/", SpectacularJSONAPIView.as_view(), name="api-schema"),
    re_path(r"^(?P<rest>.*)$", no_such_address),
]
