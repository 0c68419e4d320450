"""The page of an analysis: the same for all of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import Library
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_GET

from webapp.analyses.declaration import Analysis, Declaration, FleetAnalysis, RootAnalysis
from webapp.analyses.document import Document, Drawn, Inputs
from webapp.analyses.inputs import inputs_for_fleet, inputs_for_root
from webapp.analyses.presentation import blocks
from webapp.analyses.registry import all_analyses, all_fleet_analyses, all_root_analyses
from webapp.charts.answers import answer
from webapp.fleet.job_lookup import JobView, look_up
from webapp.lib.messages.rendering import localised
from webapp.storage.badges import is_known
from webapp.storage.newest_audits import audited_or_404
from webapp.storage.views.parameters import parameter

register = Library()
Arguments = tuple[Any, ...]
"""Arguments of an analysis: its subject, except for the fleet, and an ``Inputs``."""


@register.simple_tag
def root_analyses() -> Iterable[RootAnalysis]:
    return all_root_analyses().values()


def urlpatterns() -> list[URLPattern]:
    """An address and a name for each analysis, ``{% url 'starts' cluster job_id %}``, and of each
    chart: ``starts-chart-phases``.

    Those of the fleet begin with ``fleet-``: ``{% url 'fleet-resources' %}``; those of roots with
    ``storage-``, and the root is their parameter ``uri``, since it has slashes.
    """
    return [
        *_addresses(all_analyses(), "jobs/<name:cluster>/<name:job_id>/", "", page, _job_arguments),
        *_addresses(all_fleet_analyses(), "", "fleet-", fleet_page, _fleet_arguments),
        *_addresses(all_root_analyses(), "storage/", "storage-", root_page, _root_arguments),
    ]


def _addresses(
    declared: Mapping[str, Declaration[Any, Any]],
    folder: str,
    prefix: str,
    show: Callable[..., HttpResponse],
    arguments_of: Callable[..., Arguments],
) -> Iterator[URLPattern]:
    for name, declaration in declared.items():
        view = require_GET(partial(show, analysis=declaration))
        yield path(f"{folder}{name}/", view, name=f"{prefix}{name}")
        for key, draw in declaration.charts.items():
            view = require_GET(
                partial(chart, analysis=declaration, draw=draw, arguments_of=arguments_of)
            )
            yield path(f"{folder}{name}/{key}.json", view, name=f"{prefix}{name}-chart-{key}")


def page(request: HttpRequest, cluster: str, job_id: str, analysis: Analysis) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    inputs = inputs_from(request, view, analysis)

    def answer() -> Document:
        document = analysis.answer(view.job, inputs)
        is_stale = view.is_unknown or view.is_unwatched or (view.is_late and not view.is_past)
        return _as_far_as_known(document, is_known=not is_stale)

    context = {
        "layout": "fleet/page_of_job.html",
        "address": reverse(analysis.name, args=(cluster, job_id)),
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
    }
    return _page(request, analysis, inputs, context, answer)


def fleet_page(request: HttpRequest, analysis: FleetAnalysis) -> HttpResponse:
    (inputs,) = _fleet_arguments(request, analysis)
    address = reverse(f"fleet-{analysis.name}")
    context = {"layout": "fleet/page_of_fleet.html", "address": address}
    return _page(request, analysis, inputs, context, lambda: analysis.answer(inputs))


def root_page(request: HttpRequest, analysis: RootAnalysis) -> HttpResponse:
    figures, inputs = _root_arguments(request, analysis)

    def answer() -> Document:
        known = is_known(figures, inputs.now)
        return _as_far_as_known(analysis.answer(figures, inputs), is_known=known)

    address = reverse(f"storage-{analysis.name}")
    context = {"layout": "storage/page_of_root.html", "address": address, "figures": figures}
    return _page(request, analysis, inputs, context, answer)


def _page(
    request: HttpRequest,
    analysis: Declaration[Any, Any],
    inputs: Inputs,
    context: dict[str, Any],
    answer: Callable[[], Document],
) -> HttpResponse:
    parameters = analysis.parameters.parameters().items()
    context |= {
        "analysis": analysis,
        "query": request.GET.urlencode(),
        "parameters": [(name, choices, request.GET.get(name, "")) for name, choices in parameters],
        "wrong": "" if inputs.parameters.is_valid() else inputs.parameters.explanation,
    }
    is_part = "HX-Request" in request.headers
    if is_part or not analysis.is_slow:
        document = answer()
        context |= {"verdict": document.verdict, "blocks": list(blocks(document))}
    return render(request, "analyses/_blocks.html" if is_part else "analyses/page.html", context)


def _job_arguments(
    request: HttpRequest, analysis: Analysis, cluster: str, job_id: str
) -> Arguments:
    view = look_up(request, cluster, job_id)
    return view.job, inputs_from(request, view, analysis)


def _fleet_arguments(request: HttpRequest, analysis: FleetAnalysis) -> Arguments:
    return (inputs_for_fleet(analysis.parameters.from_page(request.GET)),)


def _root_arguments(request: HttpRequest, analysis: RootAnalysis) -> Arguments:
    figures = audited_or_404(parameter(request, "uri"))
    return figures, inputs_for_root(figures, analysis.parameters.from_page(request.GET))


def chart(
    request: HttpRequest,
    analysis: Declaration[Any, Any],
    draw: Callable[..., Drawn],
    arguments_of: Callable[..., Arguments],
    **address: str,
) -> HttpResponse:
    drawn = draw(*arguments_of(request, analysis, **address))
    if drawn.figure is None:
        empty = {"title": localised(drawn.empty_title), "text": localised(drawn.empty_text)}
        return JsonResponse({"figure": None, "empty": empty})
    return JsonResponse(answer(drawn.figure, localised(drawn.note)))


def _as_far_as_known(document: Document, *, is_known: bool) -> Document:
    verdict = document.verdict
    return (
        document
        if is_known or verdict.tone != "ok"
        else replace(document, verdict=replace(verdict, tone="unknown"))
    )


def inputs_from(request: HttpRequest, view: JobView, analysis: Analysis) -> Inputs:
    """Up to the end of the chosen range, or when the job was last seen in it. Invalid parameters
    are ignored.
    """
    until = min(view.time_range.to_time, view.at)
    return Inputs(
        view.time_range.from_time, until, view.now, analysis.parameters.from_page(request.GET)
    )
