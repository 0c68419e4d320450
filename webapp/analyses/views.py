"""The page of an analysis: the same for all of them."""

from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET

from webapp.analyses.document import Asked, Verdict
from webapp.analyses.presentation import blocks
from webapp.analyses.registry import Analysis, Draw, all_analyses
from webapp.fleet.job_lookup import JobView, look_up
from webapp.messages.rendering import localised


def urlpatterns() -> list[URLPattern]:
    """An address and a name each, ``{% url 'starts' cluster job_id %}``, and of each chart: ``starts-chart-phases``."""
    of_job = "jobs/<name:cluster>/<name:job_id>"
    found: list[URLPattern] = []
    for one in all_analyses().values():
        found.append(path(f"{of_job}/{one.name}/", require_GET(partial(page, analysis=one)), name=one.name))
        for key, draw in one.charts.items():
            view = require_GET(partial(chart, analysis=one, draw=draw))
            found.append(path(f"{of_job}/{one.name}/{key}.json", view, name=f"{one.name}-chart-{key}"))
    return found


def page(request: HttpRequest, cluster: str, job_id: str, analysis: Analysis) -> HttpResponse:
    """What takes long comes after the page; what is refreshed comes without it."""
    view = look_up(request, cluster, job_id)
    asked = asked_of(request, view, analysis)
    context: dict[str, Any] = {
        "analysis": analysis,
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
        "query": request.GET.urlencode(),
        "parameters": [(name, one, request.GET.get(name, "")) for name, one in analysis.parameters.parameters().items()],
        "wrong": "" if asked.parameters.is_valid() else asked.parameters.explanation,
    }
    is_part = "HX-Request" in request.headers
    if is_part or not analysis.is_slow:
        document = analysis.answer(view.job, asked)
        context |= {"verdict": _as_far_as_known(document.verdict, view), "blocks": list(blocks(document))}
    return render(request, "analyses/_blocks.html" if is_part else "analyses/page.html", context)


def chart(request: HttpRequest, cluster: str, job_id: str, analysis: Analysis, draw: Draw) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    drawn = draw(view.job, asked_of(request, view, analysis))
    if drawn.figure is None:
        empty = {"title": localised(drawn.empty_title), "text": localised(drawn.empty_text)}
        return JsonResponse({"figure": None, "empty": empty})
    return JsonResponse({"figure": drawn.figure, "note": localised(drawn.note)})


def _as_far_as_known(verdict: Verdict, view: JobView) -> Verdict:
    """What was good when the job was last seen is not shown as good where nobody knows whether it still is."""
    is_known = view.is_past or not (view.is_unknown or view.is_late)
    return verdict if is_known or verdict.tone != "ok" else replace(verdict, tone="unknown")


def asked_of(request: HttpRequest, view: JobView, analysis: Analysis) -> Asked:
    """At the end of the chosen time, as far as the job was seen in it. Wrong parameters are as none."""
    until = min(view.time_range.to_time, view.at)
    return Asked(view.time_range.from_time, until, view.now, analysis.parameters.of_page(request.GET))
