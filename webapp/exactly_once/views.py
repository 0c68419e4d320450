"""The page of a job's transactions."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.exactly_once.job_transactions import job_transactions
from webapp.exactly_once.words import advice, verdict
from webapp.fleet.job_lookup import look_up

SHOWN = 50


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = job_transactions(view.job, min(view.time_range.to_time, view.known_to), view.time_range.from_time)
    sinks = found.of_sinks
    context = {
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
        "found": found,
        "sinks": sinks,
        "verdict": verdict(found),
        "advice": advice(found),
        "commits": sinks.commits[: -SHOWN - 1 : -1],
    }
    return render(request, "exactly_once/exactly_once.html", context)
