"""Where the tasks of a job run. The page comes at once; its chart and tables are worked out when they are shown."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.placement import tasks_by_taskmanager
from webapp.fleet.job_lookup import JobView, look_up
from webapp.placement.job_placement import BOTH, DEFAULT, NOW, JobPlacement
from webapp.placement.lookup import look_up_placement
from webapp.placement.words import LABELS, MEANINGS, verdict

TASKMANAGERS_SHOWN = 50
VERTICES_SHOWN = 50


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    return render(request, "placement/placement.html", {"view": view, "job": view.job, "range_query": view.range_query})


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = _placement(view)
    context = {
        "view": view,
        "job": view.job,
        "placement": found,
        "verdict": verdict(found) if found else None,
        "outcomes": [(one, LABELS[one.key], MEANINGS[one.key]) for one in found.outcomes] if found else (),
        "taskmanagers": found.taskmanagers[:TASKMANAGERS_SHOWN] if found else (),
        "vertices": found.vertices[:VERTICES_SHOWN] if found else (),
        "range_query": view.range_query,
    }
    return render(request, "placement/_tables.html", context)


@require_GET
def chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    found = _placement(look_up(request, cluster, job_id))
    if found is None:
        empty = {"title": gettext("The plan of this job is not known"), "text": gettext("It is read with the first answer of its cluster.")}
        return JsonResponse({"figure": None, "empty": empty})
    before = found.outcome(NOW) or found.outcome(DEFAULT)
    after = found.outcome(BOTH)
    series = [(str(LABELS[one.key]), one.tasks) for one in (before, after) if one]
    figure = tasks_by_taskmanager(series)
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": gettext("TaskManagers in order of their tasks, fullest first.")})


def _placement(view: JobView) -> JobPlacement | None:
    """At the end of the chosen time, as far as the job was seen in it."""
    return look_up_placement(view.job, view.time_range.to_time)
