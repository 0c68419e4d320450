"""The menu of every page, in its order."""

from typing import Any

from django.http import HttpRequest

from webapp.alerting.urls import MENU as ALERTS
from webapp.findings.urls import MENU as FINDINGS
from webapp.hosts.urls import MENU as HOSTS
from webapp.lib import scopes
from webapp.reports.urls import MENU as REPORTS
from webapp.site.incident_urls import MENU as INCIDENTS
from webapp.site.page_urls import CLUSTERS, FLEET
from webapp.site.pipeline_urls import MENU as PIPELINE
from webapp.storage.urls import MENU as STORAGE

MENU = (FLEET, INCIDENTS, FINDINGS, ALERTS, REPORTS, STORAGE, HOSTS, CLUSTERS, PIPELINE)


def menu(request: HttpRequest) -> dict[str, Any]:
    """``menu`` in templates: each entry, and whether this page belongs to it."""
    match = request.resolver_match
    page = (match.url_name if match else None) or ""
    return {
        "menu": [
            (entry, entry.holds(page))
            for entry in MENU
            if not entry.whole_fleet or scopes.current().is_everything
        ]
    }
