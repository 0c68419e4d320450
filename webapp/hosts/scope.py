"""The clusters whose host of a name a page shows."""

from django.http import Http404, HttpRequest
from django.utils.translation import gettext

from webapp.hosts import lookup
from webapp.lib import scopes


def clusters_of_page(request: HttpRequest, host: str) -> tuple[list[str], list[str]]:
    """Those where a host of this name was seen, and those that are shown: the one that is asked
    for, else all.

    A link from a page that names a host leads somewhere even where nothing more is known of it.
    """
    known = lookup.clusters_of(host)
    chosen = request.GET.get("cluster", "")
    if chosen and scopes.current().holds(chosen):
        return known, [chosen]
    if not known:
        raise Http404(gettext("No job was seen on a host of this name."))
    return known, known
