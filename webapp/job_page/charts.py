"""Figures of the job page as JSON, loaded when they come into view."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import plotly.graph_objects as go
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext

from webapp.charts.annotations import Annotation
from webapp.charts.answers import answer
from webapp.charts.checkpoints import tick_step_ms, timeline
from webapp.charts.lines import Line, lines
from webapp.charts.pressure import busy_by_vertex
from webapp.charts.sizes import Trend, size_over_time, step_bytes
from webapp.charts.stack import Part, stacked
from webapp.charts.theme import ACCENT, OK
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.line_trend import trend_of
from webapp.checkpoints.models import SizeTrend
from webapp.findings.job_findings import of_job
from webapp.fleet.job_lookup import JobView, look_up
from webapp.fleet.models import JobAnnotation, JobStart
from webapp.fleet.shown_attempts import ShownAttempts, shown_attempts
from webapp.lib.messages.rendering import localised
from webapp.lib.quantities import count_text, duration_text, per_second_text
from webapp.lib.timeranges import iso_text
from webapp.pressure.over_time import over_time

Noted = tuple[Part, str]
"""A chart and a note on it."""

FORECAST_FROM = timedelta(hours=6)
"""A shorter trend is not drawn into the future."""
MOST_ANNOTATIONS = 500
MOST_DOWNTIMES = 100


def strip(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """Checkpoints, sizes, pressure and rates below each other; parts without data are left out. The
    number of queries is constant.
    """
    view = look_up(request, cluster, job_id)
    attempts = shown_attempts(request, view)
    start, end = attempts.drawn_from, view.time_range.to_time
    facts = facts_of.of_attempts(cluster, attempts.ids, view.time_range.from_time, end)
    of_checkpoints = list(_checkpoint_charts(view, attempts, facts))
    drawn = [*of_checkpoints, *_pressure_charts(view, attempts)]
    none = gettext("No checkpoint in this time")
    if not drawn:
        return _empty(
            none, gettext("None was triggered, or none was seen. Choose a longer time range.")
        )
    figure, events_note = stacked(
        [part for part, _note in drawn],
        start,
        end,
        _annotations(view, attempts),
        _downtimes(view, attempts),
    )
    notes = ("" if of_checkpoints else f"{none}.", *(note for _part, note in drawn), events_note)
    return _draw(figure, " ".join(filter(None, notes)))


def _checkpoint_charts(view: JobView, attempts: ShownAttempts, facts: Any) -> Iterator[Noted]:
    cluster, start, end = view.job.cluster, attempts.drawn_from, view.time_range.to_time
    bars, total = facts_of.bars(facts, cluster)
    if not bars:
        return
    figure, note = timeline(bars, start, end, view.job.checkpoint_timeout_ms, total=total)
    yield (
        Part("checkpoints", gettext("Checkpoints: duration by phase, outcome"), figure, 140),
        note,
    )
    sizes = facts_of.sizes(facts)
    if sizes is None:
        return
    served = trend_of(view.job, () if attempts.alone else attempts.others, end)
    figure, note = size_over_time(sizes, start, end, _trend(served), link=facts_of.links(cluster))
    yield Part("sizes", gettext("Full state and upload of checkpoints"), figure, 80), note


def _pressure_charts(view: JobView, attempts: ShownAttempts) -> Iterator[Noted]:
    found = over_time(
        view.job.cluster,
        attempts.ids,
        view.job.graph,
        view.time_range.from_time,
        view.time_range.to_time,
    )
    if found is None:
        return
    if found.shares:
        figure, height_px = busy_by_vertex(found.shares, found.starts, found.width)
        note = (
            gettext("Of %(all)s vertices the %(number)s under most pressure are drawn.")
            % {"all": found.vertices, "number": len(found.shares)}
            if len(found.shares) < found.vertices
            else ""
        )
        title = gettext("Back-pressured above, busy below, by vertex")
        yield Part("pressure", title, figure, height_px), note
    for name, title, height_px, drawn, words, step_of in (
        (
            "records",
            gettext("Records per second"),
            70,
            (
                Line(gettext("out of sources"), ACCENT, found.from_sources),
                Line(gettext("into sinks"), OK, found.into_sinks),
            ),
            per_second_text,
            step_bytes,
        ),
        (
            "pending",
            gettext("Records that sources have not read"),
            60,
            (Line(gettext("not read"), ACCENT, found.pending_records),),
            count_text,
            step_bytes,
        ),
        (
            "lag",
            gettext("Source lag: age of what sources emit"),
            60,
            (Line(gettext("lag"), ACCENT, found.lag_ms),),
            duration_text,
            tick_step_ms,
        ),
    ):
        known = [line for line in drawn if {None} != {*line.values}]
        if known:
            yield Part(name, title, lines(known, found.starts, words, step_of), height_px), ""


def _downtimes(view: JobView, attempts: ShownAttempts) -> list[tuple[datetime, datetime]]:
    restarts = JobStart.objects.filter(
        cluster=view.job.cluster,
        job_id__in=attempts.ids,
        at__gte=view.time_range.from_time,
        at__lte=view.time_range.to_time,
    ).exclude(kind="start")
    spans = restarts.order_by("-at").values_list("begun_at", "running_at")[:MOST_DOWNTIMES]
    return [(begun, running) for begun, running in spans if begun]


def _annotations(view: JobView, attempts: ShownAttempts) -> list[Annotation]:
    rows = JobAnnotation.objects.filter(
        cluster=view.job.cluster,
        job_id__in=attempts.ids,
        at__gte=view.time_range.from_time,
        at__lte=view.time_range.to_time,
    )
    newest = rows.order_by("-at").values_list("at", "kind", "label", "subject")[:MOST_ANNOTATIONS]
    page = reverse("before-after", args=(view.job.cluster, view.job.job_id))
    events = [
        Annotation(at, kind, localised(label or subject or kind), f"{page}?at={iso_text(at)}")
        for at, kind, label, subject in newest
    ]
    borders = [
        Annotation(border.at, "attempt", border.words, f"{page}?at={iso_text(border.at)}")
        for border in attempts.borders
    ]
    return [*events, *borders, *_findings(view, attempts)]


def _findings(view: JobView, attempts: ShownAttempts) -> list[Annotation]:
    start, end = view.time_range.from_time, view.time_range.to_time
    findings = of_job(
        view.job.cluster, view.job.job_id, start, end, is_past=True, attempts=attempts.ids
    )
    return [
        Annotation(
            finding.finding.first_seen,
            "critical" if finding.severity.tone == "crit" else "warning",
            finding.finding.title,
            reverse("finding", args=(finding.finding.pk,)),
        )
        for finding in (*findings.current, *findings.of_others)
    ]


def _trend(served: SizeTrend | None) -> Trend | None:
    if (
        served is None
        or served.bytes_per_h is None
        or served.from_time is None
        or served.to_time is None
    ):
        return None
    forecast = served.to_time - served.from_time >= FORECAST_FROM
    return Trend(served.from_time, served.to_time, served.bytes_per_h, forecast)


def _draw(figure: go.Figure, note: str) -> HttpResponse:
    return JsonResponse(answer(figure, note))


def _empty(title: str, text: str) -> HttpResponse:
    answer: dict[str, Any] = {"figure": None, "note": "", "empty": {"title": title, "text": text}}
    return JsonResponse(answer)
