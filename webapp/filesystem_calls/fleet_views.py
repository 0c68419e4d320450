"""Calls of all jobs to their file systems. The page comes at once; what it shows is worked out when it is shown."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.answers import answer
from webapp.charts.filesystem_calls import calls_by_second
from webapp.filesystem_calls.fleet_calls import MOST_MORE, FleetCalls, look_up_fleet_calls
from webapp.filesystem_calls.fleet_words import (
    audit_hint,
    audit_sentence,
    balance_sentence,
    burst_sentence,
    namenode_hint,
    namenode_sentence,
)
from webapp.filesystem_calls.namenode_findings import open_findings

SHOWN = 50


def more_of(text: str) -> int:
    """How many file systems more are to be supposed; what is no such number supposes none."""
    return min(int(text), MOST_MORE) if text.isascii() and text.isdecimal() and len(text) < 4 else 0


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "filesystem_calls/fleet.html", {"more": more_of(request.GET.get("more", "")), "choices": range(4)})


@require_GET
def tables(request: HttpRequest) -> HttpResponse:
    found = _found(request)
    context = {
        "found": found,
        "systems": [(one, burst_sentence(one), one.together[:SHOWN]) for one in found.file_systems],
        "audited": [(one, audit_sentence(one)) for one in found.observed.logs],
        "audit_hint": audit_hint(found),
        "namenodes": [(one, namenode_sentence(one, sum(found.before.values()))) for one in found.namenodes.known],
        "namenode_findings": open_findings(),
        "namenode_hint": namenode_hint(found),
        "balance": balance_sentence(found),
        "loads": [(name, found.before[name], found.after[name]) for name in found.before],
        "moves": found.moves[:SHOWN],
    }
    return render(request, "filesystem_calls/_fleet_tables.html", context)


@require_GET
def chart(request: HttpRequest) -> HttpResponse:
    found = _found(request)
    series = [(one.file_system or "unknown", one.seconds) for one in found.file_systems if any(one.seconds)]
    series += [(gettext("audit log, %(cluster)s") % {"cluster": one.cluster}, one.seconds) for one in found.observed.logs]
    if not series:
        empty = {
            "title": gettext("No calls are known"),
            "text": gettext("No job whose files an audit counted took a checkpoint in these minutes."),
        }
        return JsonResponse({"figure": None, "empty": empty})
    figure = calls_by_second(series, found.start)
    return JsonResponse(answer(figure, gettext("Calls of each second, a checkpoint's evenly over its duration.")))


def _found(request: HttpRequest) -> FleetCalls:
    return look_up_fleet_calls(timezone.now(), more_of(request.GET.get("more", "")))
