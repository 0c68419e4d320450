"""What deleting everything older than some days would have done."""

from typing import Any

from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from webapp.accounts.guards import operators_only
from webapp.accounts.roles import may_operate
from webapp.storage.age_rules import of_root
from webapp.storage.choices import SimulationState
from webapp.storage.latest import latest_of
from webapp.storage.models import AgeRuleResult, RootFigures

PRESETS = (1, 3, 7, 14, 30, 90)
MOST_DAYS = 3650
SHOWN = 12


@require_http_methods(["GET", "POST"])
def simulator(request: HttpRequest) -> HttpResponseBase:
    """GET shows what was simulated; POST asks a worker for another age."""
    uri = request.GET.get("uri", "").replace("\x00", "")[:4_000]
    figures = latest_of(uri)
    if figures is None:
        raise Http404("No audit has looked at this root.")
    if request.method == "POST":
        return ask(request, figures)
    days = _days(request.GET.get("days", ""))
    done = list(AgeRuleResult.objects.filter(audit=figures.audit).order_by("days")[:200])
    chosen = next((row for row in done if row.days == days), None) if days else next((row for row in done if row.state == "done"), None)
    context: dict[str, Any] = {
        "uri": uri,
        "figures": figures,
        "audit": figures.audit,
        "done": done[:SHOWN],
        "days": days or (chosen.days if chosen else None),
        "chosen": chosen,
        "outcome": of_root(chosen.result, uri) if chosen and chosen.state == SimulationState.DONE else None,
        "presets": PRESETS,
        "may_operate": may_operate(request.user),
        "now": timezone.now(),
    }
    return render(request, "storage/simulator.html", context)


@operators_only
def ask(request: HttpRequest, figures: RootFigures) -> HttpResponse:
    """Starts Spark, so viewers may not; what was simulated once is shown again."""
    days = _days(request.POST.get("days", ""))
    if days and figures.audit.files_kept:
        try:
            with transaction.atomic():
                AgeRuleResult.objects.create(audit=figures.audit, days=days)
        except IntegrityError:
            failed = AgeRuleResult.objects.filter(audit=figures.audit, days=days, state=SimulationState.FAILED)
            failed.update(state=SimulationState.ASKED, error="")
    query = urlencode([("uri", figures.root), *([("days", days)] if days else [])])
    return redirect(f"{reverse('storage-simulator')}?{query}")


def _days(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 and 0 < int(text) <= MOST_DAYS else None
