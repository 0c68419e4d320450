from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import Context, Library
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.analyses.declaration import Analysis, Draw, Subject
from webapp.analyses.document import Inputs
from webapp.analyses.inputs import inputs_for_fleet, inputs_for_root
from webapp.analyses.presentation import ShownCell, blocks
from webapp.analyses.registry import all_analyses
from webapp.charts.answers import answer, empty_answer
from webapp.fleet.job_lookup import look_up
from webapp.lib.filters import breakable
from webapp.lib.host_links import host_link
from webapp.lib.messages.rendering import localised
from webapp.storage.badges import is_known
from webapp.storage.newest_audits import audited_or_404
from webapp.storage.views.parameters import parameter

register = Library()


@register.simple_tag
def root_analyses() -> Iterable[Analysis]:
    return all_analyses("root").values()


@register.simple_tag(takes_context=True)
def table_cell(context: Context, cell: ShownCell) -> SafeString | str:
    """A template for each of a thousand cells costs more than the rest of the page."""
    if cell.url:
        text = Truncator(cell.text).chars(200)
        return format_html('<a href="{}"><bdi>{}</bdi></a>', cell.url, text)
    if cell.host:
        job = context.get("job")
        return host_link(cell.host, job.cluster if job else "")
    if cell.stack:
        stack = format_html("<pre>{}</pre>", cell.stack)
        return format_html("<details><summary>{}</summary>{}</details>", gettext("Stack"), stack)
    return format_html("<bdi>{}</bdi>", breakable(Truncator(cell.text).chars(300)))


ADDRESSES: dict[Subject, tuple[str, str]] = {
    "job": ("jobs/<name:cluster>/<name:job_id>/", ""),
    "fleet": ("", "fleet-"),
    "root": ("storage/", "storage-"),
}
"""By subject: the path before an analysis's name, and the prefix of its URL name."""


def urlpatterns() -> list[URLPattern]:
    """A URL for each analysis, ``{% url 'starts' cluster job_id %}``, and each chart, such as
    ``starts-chart-phases``. A root is the parameter ``uri``, since it has slashes.
    """
    patterns = []
    for subject, (folder, prefix) in ADDRESSES.items():
        for name, analysis in all_analyses(subject).items():
            show = require_GET(partial(page, analysis=analysis))
            patterns.append(path(f"{folder}{name}/", show, name=f"{prefix}{name}"))
            for key, draw in analysis.charts.items():
                show = require_GET(partial(chart, analysis=analysis, draw=draw))
                chart_name = f"{prefix}{name}-chart-{key}"
                patterns.append(path(f"{folder}{name}/{key}.json", show, name=chart_name))
    return patterns


@dataclass(frozen=True)
class AnalysisRequest:
    """``arguments`` of the answer: the subject, none for the fleet, and ``Inputs``. ``context`` of
    the template. ``is_recent``: the subject's data are recent.
    """

    arguments: tuple[Any, ...]
    context: dict[str, Any]
    is_recent: bool = True

    @property
    def inputs(self) -> Inputs:
        inputs: Inputs = self.arguments[-1]
        return inputs


def _job_request(
    request: HttpRequest, analysis: Analysis, cluster: str, job_id: str
) -> AnalysisRequest:
    view = look_up(request, cluster, job_id)
    inputs = Inputs(
        view.time_range.from_time,
        min(view.time_range.to_time, view.at),
        view.now,
        analysis.parameters.from_page(request.GET),
    )
    is_stale = view.is_unknown or view.is_unwatched or (view.is_late and not view.is_past)
    context = {
        "layout": "fleet/page_of_job.html",
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
    }
    return AnalysisRequest((view.job, inputs), context, not is_stale)


def _fleet_request(request: HttpRequest, analysis: Analysis) -> AnalysisRequest:
    inputs = inputs_for_fleet(analysis.parameters.from_page(request.GET))
    return AnalysisRequest((inputs,), {"layout": "fleet/page_of_fleet.html"})


def _root_request(request: HttpRequest, analysis: Analysis) -> AnalysisRequest:
    figures = audited_or_404(parameter(request, "uri"))
    inputs = inputs_for_root(figures, analysis.parameters.from_page(request.GET))
    context = {"layout": "storage/page_of_root.html", "figures": figures}
    return AnalysisRequest((figures, inputs), context, is_known(figures, inputs.now))


REQUESTS: dict[Subject, Callable[..., AnalysisRequest]] = {
    "job": _job_request,
    "fleet": _fleet_request,
    "root": _root_request,
}


def page(request: HttpRequest, analysis: Analysis, **address: str) -> HttpResponse:
    """Invalid parameters are ignored, and the page says so."""
    analysis_request = REQUESTS[analysis.subject](request, analysis, **address)
    parameters, inputs = analysis.parameters.parameters().items(), analysis_request.inputs
    context = analysis_request.context | {
        "analysis": analysis,
        "address": reverse(f"{ADDRESSES[analysis.subject][1]}{analysis.name}", kwargs=address),
        "query": request.GET.urlencode(),
        "parameters": [(name, choices, request.GET.get(name, "")) for name, choices in parameters],
        "wrong": "" if inputs.parameters.is_valid() else inputs.parameters.explanation,
    }
    is_of_htmx = "HX-Request" in request.headers
    if is_of_htmx or not analysis.is_slow:
        document = analysis.answer(*analysis_request.arguments)
        verdict = document.verdict
        if verdict.tone == "ok" and not analysis_request.is_recent:
            verdict = replace(verdict, tone="unknown")
        context |= {"verdict": verdict, "blocks": list(blocks(document))}
    return render(request, "analyses/_blocks.html" if is_of_htmx else "analyses/page.html", context)


def chart(request: HttpRequest, analysis: Analysis, draw: Draw, **address: str) -> HttpResponse:
    drawn = draw(*REQUESTS[analysis.subject](request, analysis, **address).arguments)
    if drawn.figure is None:
        return JsonResponse(empty_answer(localised(drawn.empty_title), localised(drawn.empty_text)))
    return JsonResponse(answer(drawn.figure, localised(drawn.note)))
