"""The page of a job's data in flight."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.fleet.job_lookup import look_up
from webapp.in_flight.job_in_flight import job_in_flight
from webapp.in_flight.words import advice, sentence

SHOWN = 100


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = job_in_flight(view.job, min(view.time_range.to_time, view.at))
    most = sorted(found.vertices or (), key=lambda one: -(one.inputs + one.outputs))
    context = {
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
        "found": found,
        "sentence": sentence(found),
        "advice": advice(found),
        "vertices": [(one, one.inputs * found.segment_bytes, one.outputs * found.segment_bytes) for one in most[:SHOWN]],
    }
    return render(request, "in_flight/in_flight.html", context)
