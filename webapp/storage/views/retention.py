"""What a root keeps because nobody deletes it."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.storage.models import StorageRoot
from webapp.storage.newest_audits import latest_of
from webapp.storage.replication_factor import factor_of
from webapp.storage.retention import retention
from webapp.storage.views.parameters import parameter

ROWS_SHOWN = 100


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    figures = latest_of(parameter(request, "uri"))
    if figures is None:
        raise Http404(gettext("No audit has looked at this root."))
    found = retention(figures)
    context = {
        "found": found,
        "query_uri": urlencode({"uri": figures.root}),
        "replicated": factor_of(StorageRoot.objects.prefetch_related("clusters").filter(uri=figures.root).first()),
        "savepoints": found.savepoints[:ROWS_SHOWN],
        "ended": found.ended[:ROWS_SHOWN],
        "jobs": found.running[:ROWS_SHOWN],
    }
    return render(request, "storage/retention.html", context)
