"""Which pages can be saved as a view."""

from collections.abc import Mapping

from django.http import HttpRequest

from webapp.lib.translations import gettext_lazy as _

PAGES: Mapping[str, str] = {
    "fleet": _("Fleet"),
    "incidents": _("Incidents"),
    "findings": _("Findings"),
    "alerts": _("Alerts"),
    "deliveries": _("Deliveries"),
    "reports": _("Reports"),
    "storage": _("Storage"),
    "growth": _("Growth"),
    "hosts": _("Hosts"),
    "clusters": _("Clusters"),
}
"""Name of the address → its title."""


def savable(request: HttpRequest) -> str:
    """The name of the page's address, where it can be saved; else empty."""
    name = (request.resolver_match.url_name if request.resolver_match else None) or ""
    return name if name in PAGES else ""
