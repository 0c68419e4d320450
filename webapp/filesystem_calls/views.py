"""What the checkpoints of a job ask of its file system. The page comes at once; its chart and tables are worked out when they are shown."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ingest.messages import join_messages
from webapp.charts.filesystem_calls import calls_by_kind, files_and_heap
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.filesystem_calls.words import (
    by_label,
    bytes_sentence,
    floor_sentence,
    knee_sentence,
    observed_sentence,
    rows,
    sentence,
    what_if_rows,
)
from webapp.fleet.job_lookup import look_up
from webapp.lib.messages.rendering import localised


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    return render(request, "filesystem_calls/calls.html", {"view": view, "job": view.job})


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = look_up_calls(view.job, view.now)
    calls = found.calls
    context = {
        "view": view,
        "job": view.job,
        "calls": calls,
        "why": found.why,
        "sentence": join_messages([sentence(calls), bytes_sentence(calls, found.replicated)], " ") if calls else "",
        "rows": rows(calls) if calls else (),
    }
    if found.observed:
        context |= {"observed": found.observed, "observed_sentence": observed_sentence(found.observed)}
    if found.what_ifs:
        further = {"knee": knee_sentence(found.what_ifs), "floors": floor_sentence(found.what_ifs)}
        context |= {"what_ifs": what_if_rows(found.what_ifs), "unknown": found.what_ifs.unknown, **further}
    return render(request, "filesystem_calls/_tables.html", context)


@require_GET
def chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = look_up_calls(view.job, view.now)
    if found.calls is None:
        return JsonResponse({"figure": None, "empty": {"title": gettext("Its files are not known"), "text": found.why}})
    figure = calls_by_kind([(gettext("now"), by_label(found.calls.most))])
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": gettext("Calls of one checkpoint to the NameNode, by kind.")})


@require_GET
def threshold_chart(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    found = look_up_calls(view.job, view.now)
    if found.what_ifs is None or not found.what_ifs.curve:
        text = found.why or gettext("Its files are merged, or it writes none beside its _metadata.")
        return JsonResponse({"figure": None, "empty": {"title": gettext("No threshold changes its files"), "text": text}})
    points = [(one.threshold_bytes, one.files, one.heap_bytes) for one in found.what_ifs.curve]
    best = found.what_ifs.knee
    figure = files_and_heap(points, found.what_ifs.at_now.threshold_bytes, best.threshold_bytes if best else None)
    return JsonResponse({"figure": json.loads(figure.to_json()), "note": localised(knee_sentence(found.what_ifs))})
