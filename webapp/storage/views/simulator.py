"""What deleting everything older than some days would have done."""

from typing import Any

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from ingest.uris import BadUri
from webapp.accounts.guards import operators_only
from webapp.storage.age_rules import directory_below, of_root
from webapp.storage.choices import SimulationState
from webapp.storage.models import AgeRuleResult, JobStorage, RootFigures
from webapp.storage.newest_audits import audited_or_404
from webapp.storage.views.parameters import parameter

PRESETS = (1, 3, 7, 14, 30, 90)
MOST_DAYS = 3650
SHOWN = 12
MOST_DIRECTORIES = 100


@require_http_methods(["GET", "POST"])
def simulator(request: HttpRequest) -> HttpResponseBase:
    """GET shows what was simulated; POST asks a worker for another age."""
    uri = parameter(request, "uri")
    figures = audited_or_404(uri)
    if request.method == "POST":
        return ask(request, figures)
    days = _days(request.GET.get("days", ""))
    below = request.GET.get("below", "").replace("\x00", "")[:1_000]
    done = list(AgeRuleResult.objects.filter(audit=figures.audit).order_by("days", "below")[:200])
    chosen = (
        next((row for row in done if (row.days, row.below) == (days, below)), None)
        if days
        else next((row for row in done if row.state == "done"), None)
    )
    context: dict[str, Any] = {
        "uri": uri,
        "figures": figures,
        "audit": figures.audit,
        "done": done[:SHOWN],
        "days": days or (chosen.days if chosen else None),
        "below": chosen.below if chosen else below,
        "directories": _directories(figures),
        "chosen": chosen,
        "outcome": of_root(chosen.result, uri)
        if chosen and chosen.state == SimulationState.DONE
        else None,
        "presets": PRESETS,
    }
    return render(request, "storage/simulator.html", context)


@operators_only
def ask(request: HttpRequest, figures: RootFigures) -> HttpResponse:
    """Starts Spark, so viewers may not; what was simulated once is shown again."""
    days = _days(request.POST.get("days", ""))
    try:
        below = directory_below(request.POST.get("below", "").replace("\x00", ""), figures.root)
    except BadUri as error:
        messages.error(request, str(error))
        return redirect(f"{reverse('storage-simulator')}?{urlencode([('uri', figures.root)])}")
    if days and figures.audit.files_kept:
        try:
            with transaction.atomic():
                AgeRuleResult.objects.create(audit=figures.audit, days=days, below=below)
        except IntegrityError:
            failed = AgeRuleResult.objects.filter(
                audit=figures.audit, days=days, below=below, state=SimulationState.FAILED
            )
            failed.update(state=SimulationState.ASKED, error="")
    query = urlencode(
        [
            ("uri", figures.root),
            *([("days", days)] if days else []),
            *([("below", below)] if below else []),
        ]
    )
    return redirect(f"{reverse('storage-simulator')}?{query}")


def _directories(figures: RootFigures) -> list[str]:
    """Those of the jobs that take most space, to choose from."""
    largest = JobStorage.objects.filter(
        audit=figures.audit, root=figures.root, files__gt=0
    ).order_by("-bytes")
    return list(largest.values_list("directory", flat=True)[:MOST_DIRECTORIES])


def _days(text: str) -> int | None:
    return (
        int(text)
        if text.isascii() and text.isdigit() and len(text) < 5 and 0 < int(text) <= MOST_DAYS
        else None
    )
