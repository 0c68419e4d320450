"""Resources of a job and of the fleet. A page comes at once; its chart and tables are worked out when they are shown."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.resources import configured_and_used
from webapp.fleet.job_lookup import look_up
from webapp.resources.lookup import BY, groupings, look_up_fleet, look_up_resources
from webapp.resources.words import EMPTY, TONES, UNREADABLE, advice, unknown, verdict

SHOWN = 50


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    return render(request, "resources/resources.html", {"view": view, "job": view.job, "range_query": view.range_query})


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = look_up_resources(view.job, view.time_range.to_time)
    context = {"view": view, "job": view.job, "found": found, "empty": EMPTY, "range_query": view.range_query}
    if found:
        parts = [(part, *TONES[part.state]) for part in found.parts]
        said = {"verdict": verdict(found), "advice": advice(found, view.job.configuration), "unknown": unknown(found)}
        context |= said | {"parts": parts, "taskmanagers": found.taskmanagers[:SHOWN]}
    return render(request, "resources/_tables.html", context)


@require_GET
def chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = look_up_resources(view.job, view.time_range.to_time)
    if found is None:
        return JsonResponse({"figure": None, "empty": EMPTY})
    parts = [part for part in found.parts if part.configured_bytes]
    sizes = [part.configured_bytes for part in parts], [part.used_bytes for part in parts]
    figure = configured_and_used([gettext(part.name) for part in parts], *sizes, (gettext("configured"), gettext("used")))
    note = gettext("Of the TaskManager that uses most of each part. Used: the most in the hour; of the heap what a collection left.")
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": note})


@require_GET
def fleet_page(request: HttpRequest) -> HttpResponse:
    return render(request, "resources/fleet.html", {"by": _by(request), "choices": groupings()})


@require_GET
def fleet_tables(request: HttpRequest) -> HttpResponse:
    found = look_up_fleet(timezone.now(), _by(request))
    context = {"found": found, "jobs": found.jobs[:SHOWN], "groups": found.groups[:SHOWN]} if found else {"empty": UNREADABLE}
    return render(request, "resources/_fleet_tables.html", context)


@require_GET
def fleet_chart(request: HttpRequest) -> HttpResponse:
    found = look_up_fleet(timezone.now(), _by(request))
    if not found or not found.groups:
        none = {"title": EMPTY["title"], "text": gettext("No job has slots on a TaskManager that was sampled.")}
        return JsonResponse({"figure": None, "empty": none if found else UNREADABLE})
    groups = found.groups[:20]
    sizes = [group.memory_bytes for group in groups], [group.spare_bytes for group in groups]
    figure = configured_and_used([group.name or "–" for group in groups], *sizes, (gettext("memory"), gettext("of it could be saved")))
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": gettext("Largest saving first, twenty at most.")})


def _by(request: HttpRequest) -> str:
    return given if (given := request.GET.get("by", BY[0])) in groupings() else BY[0]
