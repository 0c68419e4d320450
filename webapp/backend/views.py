"""The page of a job's state backend."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.backend.job_backend import OF_BUFFERS, OF_INPUTS, OF_ROCKSDB, job_backend
from webapp.backend.words import debloating, switch_on, verdict
from webapp.fleet.job_lookup import look_up

SHOWN = 50


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = job_backend(view.job, min(view.time_range.to_time, view.at))
    context = {
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
        "found": found,
        "verdict": verdict(found),
        "switch_on": switch_on(found),
        "vertices": found.having(OF_ROCKSDB)[:SHOWN],
        "inputs": sorted(found.having(OF_INPUTS), key=lambda one: -(one.distance_ms or 0))[:SHOWN],
        "fed": found.fed[:SHOWN],
        "buffers": found.having(OF_BUFFERS)[:SHOWN],
        "debloating": debloating(found),
    }
    return render(request, "backend/backend.html", context)
