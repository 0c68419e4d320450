"""What a failure of a job restarts, and how long its restore takes."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.fleet.job_lookup import look_up
from webapp.analyses.recovery.job_restores import READ_MS, job_restores
from webapp.recovery.parameters import RestoreParameters, sliders
from webapp.recovery.words import LABELS, MEANINGS, regional_summary, summary

OBSERVED_SHOWN = 20
VERTICES_SHOWN = 50
LOSSES_SHOWN = 10


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    asked = RestoreParameters.of_page(request.GET)
    found = job_restores(view.job, view.time_range.to_time, asked.milliseconds or READ_MS, asked.regional)
    context = {
        "view": view,
        "job": view.job,
        "restores": found,
        "summary": summary(found),
        "choices": [(one, LABELS[one.kind], MEANINGS[one.kind]) for one in found.choices],
        "observed": found.observed[:OBSERVED_SHOWN],
        "failover": found.failover,
        "vertices": found.failover.vertices[:VERTICES_SHOWN] if found.failover else (),
        "losses": found.failover.taskmanagers[:LOSSES_SHOWN] if found.failover else (),
        "hosts": found.failover.hosts[:LOSSES_SHOWN] if found.failover else (),
        "restarts": found.failover.observed[:LOSSES_SHOWN] if found.failover else (),
        "sliders": sliders(asked),
        "regional_summary": regional_summary(found.failover) if found.failover else "",
        "range_query": view.range_query,
    }
    return render(request, "recovery/recovery.html", context)
