"""The page of the copy of a job's checkpoints."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.charts.replication import lag_over_time
from webapp.fleet.job_lookup import look_up
from webapp.replication.job_replication import job_replication

ROUNDS_IN_TABLE = 30


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "replication/replication.html", _context(request, cluster, job_id))


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "replication/_tables.html", _context(request, cluster, job_id))


@require_GET
def chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = job_replication(view.job, view.now)
    points = found.sawtooth() if found else []
    if not points:
        return JsonResponse({"figure": None, "empty": {"title": "No copy yet", "text": "Its lag is drawn once one is complete."}})
    note = "Grows by a second each second, and falls when a newer copy is complete; instants are UTC."
    return JsonResponse({"figure": json.loads(lag_over_time(points).to_json()), "note": note})


def _context(request: HttpRequest, cluster: str, job_id: str) -> dict[str, object]:
    view = look_up(request, cluster, job_id)
    found = job_replication(view.job, view.now)
    rounds = found.rounds[:ROUNDS_IN_TABLE] if found else []
    return {"view": view, "job": view.job, "found": found, "rounds": rounds, "range_query": view.range_query}
