from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.accounts.audit.actions import action_codes
from webapp.accounts.audit.filters import UNKNOWN, AuditFilters
from webapp.accounts.guards import administrators_only
from webapp.accounts.models import AuditEntry
from webapp.lib.badges import UNKNOWN as UNKNOWN_STATE
from webapp.lib.badges import Badge
from webapp.lib.exports import export_response
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form

Outcome = AuditEntry.Outcome
ENTRIES_A_PAGE = 50
MOST_EXPORTED = 100_000
COLUMNS = (
    "at",
    "person",
    "token",
    "action",
    "subject",
    "outcome",
    "status",
    "door",
    "from_address",
    "request_id",
    "details",
)
BADGES = {
    Outcome.DONE: Badge("done", "●", "ok"),
    Outcome.REFUSED: Badge("refused", "▲", "warn"),
    Outcome.FAILED: Badge("failed", "■", "crit"),
    Outcome.UNKNOWN: UNKNOWN_STATE,
}


@administrators_only
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    filters = AuditFilters.from_page(request.GET, AuditEntry.objects.all())
    listed = page(filters.qs, filters.order, request.GET.get("cursor", ""), ENTRIES_A_PAGE)
    context = {
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            Control("person", "Person"),
            Control("object", "Object"),
            Control(
                "action", "Action", [("", "Any action"), *((code, code) for code in action_codes())]
            ),
            Control(
                "outcome",
                "Outcome",
                [
                    ("", "Any outcome"),
                    *((str(value) or UNKNOWN, str(label)) for value, label in Outcome.choices),
                ],
            ),
            Control("from", "From (now-7d)"),
            Control("to", "To"),
        ),
        "page": listed,
        "rows": [(entry, BADGES[Outcome(entry.outcome)]) for entry in listed.rows],
        "matching": capped_count(filters.qs),
        "kept_days": settings.WEIR.keep_audit_days,
    }
    return render(request, "accounts/audit.html", context)


@administrators_only
@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    return export_response(
        "weir-audit",
        COLUMNS,
        _exported_rows(AuditFilters.from_page(request.GET, AuditEntry.objects.all()).checked()),
    )


def _exported_rows(entries: QuerySet[AuditEntry]) -> Iterator[dict[str, Any]]:
    for row in entries.order_by("-id").values(*COLUMNS)[:MOST_EXPORTED].iterator(1_000):
        yield {**row, "outcome": row["outcome"] or UNKNOWN}
