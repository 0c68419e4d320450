"""The page of a job's starts."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.charts.starts import phases_by_start
from webapp.fleet.job_lookup import JobView, look_up
from webapp.starts.job_starts import JobStarts, job_starts
from webapp.starts.words import KINDS, PHASES, verdict


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "starts/starts.html", _context(look_up(request, cluster, job_id)))


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "starts/_tables.html", _context(look_up(request, cluster, job_id)))


@require_GET
def chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    found = _starts(look_up(request, cluster, job_id))
    if not found.starts:
        empty = {"title": "No start was seen", "text": "Phases are known once all tasks of a start ran."}
        return JsonResponse({"figure": None, "empty": empty})
    oldest_first = [
        (
            f"{KINDS[one.kind]}<br>{one.at:%m-%d}<br>{one.at:%H:%M:%S}",
            {phase.name: phase.duration_ms for phase in one.phases if phase.name != "detect"},
        )
        for one in reversed(found.starts)
    ]
    figure = phases_by_start(oldest_first, {name: label for name, (label, _) in PHASES.items()})
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": "Oldest first; instants are UTC."})


def _context(view: JobView) -> dict[str, object]:
    found = _starts(view)
    return {
        "view": view,
        "job": view.job,
        "found": found,
        "verdict": verdict(found),
        "phases": [(name, *words) for name, words in PHASES.items() if any(name in one.phase_of for one in found.starts)],
        "kinds": KINDS,
        "newest": found.newest,
        "range_query": view.time_range.query if view.time_range.chosen else "",
    }


def _starts(view: JobView) -> JobStarts:
    """Up to the end of the chosen time: what a job took to start is asked for long afterwards."""
    return job_starts(view.job, until=view.time_range.to_time)
