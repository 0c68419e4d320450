"""The page of a job's starts."""

import json

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.starts import phases_by_start
from webapp.fleet.job_lookup import JobView, look_up
from webapp.lib import shown_zone
from webapp.lib.instants import day_and_clock_text
from webapp.starts.jar_downloads import jar_downloads
from webapp.starts.job_starts import JobStarts, job_starts, threads_of
from webapp.starts.parameters import StartParameters
from webapp.starts.rpc_troubles import SHOWN, rpc_troubles
from webapp.starts.words import KINDS, PHASES, about_calls, about_jars, verdict


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "starts/starts.html", _context(look_up(request, cluster, job_id), request.GET))


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "starts/_tables.html", _context(look_up(request, cluster, job_id), request.GET))


@require_GET
def chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    found = _starts(look_up(request, cluster, job_id))
    if not found.starts:
        empty = {"title": gettext("No start was seen"), "text": gettext("Phases are known once all tasks of a start ran.")}
        return JsonResponse({"figure": None, "empty": empty})
    oldest_first = [
        (
            f"{KINDS[one.kind]}<br>{day_and_clock_text(one.at).replace(' ', '<br>', 1)}",
            {phase.name: phase.duration_ms for phase in one.phases if phase.name != "detect"},
        )
        for one in reversed(found.starts)
    ]
    figure = phases_by_start(oldest_first, {name: str(label) for name, (label, _) in PHASES.items()})
    note = gettext("Oldest first; instants are %(zone)s.") % {"zone": shown_zone.label()}
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": note})


def _context(view: JobView, query: QueryDict) -> dict[str, object]:
    found, asked = _starts(view), StartParameters.of_page(query)
    jars = jar_downloads(view.job, found, asked.jar_bytes, asked.link_bytes_per_s)
    calls = rpc_troubles(view.job, view.time_range.to_time, found.starts)
    return {
        "calls": calls,
        "about_calls": about_calls(calls),
        "troubled": calls.seconds[:SHOWN],
        "phase_labels": {name: str(label) for name, (label, _) in PHASES.items()},
        "jars": jars,
        "about_jars": about_jars(jars),
        "jar_kb": asked.jar_bytes and asked.jar_bytes // 1_000,
        "asked_query": "&".join(f"{name}={value}" for name, value in asked.values.items() if value is not None),
        "link_mbit": asked.link_bytes_per_s // 125_000,
        "view": view,
        "job": view.job,
        "found": found,
        "verdict": verdict(found),
        "phases": [(name, *words) for name, words in PHASES.items() if any(name in one.phase_of for one in found.starts)],
        "kinds": KINDS,
        "newest": found.newest,
        "starting": threads_of(view.job, found),
        "dumps_starts": settings.WEIR.start_dumps,
        "range_query": view.range_query,
    }


def _starts(view: JobView) -> JobStarts:
    """Up to the end of the chosen time: what a job took to start is asked for long afterwards."""
    return job_starts(view.job, until=view.time_range.to_time)
