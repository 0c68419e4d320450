from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext

from webapp.charts.annotations import Annotation
from webapp.charts.answers import answer, empty_answer
from webapp.charts.checkpoints import tick_step_ms, timeline
from webapp.charts.lines import Line, lines
from webapp.charts.pressure import busy_by_vertex
from webapp.charts.sizes import Trend, size_over_time
from webapp.charts.stack import Part, stack_figures
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

NotedPart = tuple[Part, str]
"""A part of the stack, and a note on it."""

FORECAST_FROM = timedelta(hours=6)
"""A shorter trend is not drawn into the future."""
MOST_ANNOTATIONS = 500
MOST_DOWNTIMES = 100


def strip(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """Checkpoints, sizes, pressure and rates, stacked. Parts without data are left out."""
    view = look_up(request, cluster, job_id)
    attempts = shown_attempts(request, view)
    start, end = attempts.drawn_from, view.time_range.to_time
    facts = facts_of.of_attempts(cluster, attempts.ids, view.time_range.from_time, end)
    checkpoint_charts = list(_checkpoint_charts(view, attempts, facts))
    charts = [*checkpoint_charts, *_pressure_charts(view, attempts)]
    no_checkpoint = gettext("No checkpoint in this time")
    if not charts:
        text = gettext("None was triggered, or none was seen. Choose a longer time range.")
        return JsonResponse(empty_answer(no_checkpoint, text))
    figure, events_note = stack_figures(
        [part for part, _note in charts],
        start,
        end,
        _annotations(view, attempts),
        _downtimes(view, attempts),
    )
    missing = "" if checkpoint_charts else f"{no_checkpoint}."
    notes = (missing, *(note for _part, note in charts), events_note)
    return JsonResponse(answer(figure, " ".join(filter(None, notes))))


def _checkpoint_charts(view: JobView, attempts: ShownAttempts, facts: Any) -> Iterator[NotedPart]:
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
    size_trend = trend_of(view.job, () if attempts.alone else attempts.others, end)
    figure, note = size_over_time(
        sizes, start, end, _trend(size_trend), link=facts_of.links(cluster)
    )
    yield Part("sizes", gettext("Full state and upload of checkpoints"), figure, 80), note


def _pressure_charts(view: JobView, attempts: ShownAttempts) -> Iterator[NotedPart]:
    time_range = view.time_range
    rates = over_time(view.job, attempts.ids, time_range.from_time, time_range.to_time)
    if rates is None:
        return
    if rates.shares:
        figure, height_px = busy_by_vertex(rates.shares, rates.starts, rates.width)
        note = (
            gettext("Of %(all)s vertices the %(number)s under most pressure are drawn.")
            % {"all": rates.vertices, "number": len(rates.shares)}
            if len(rates.shares) < rates.vertices
            else ""
        )
        title = gettext("Back-pressured above, busy below, by vertex")
        yield Part("pressure", title, figure, height_px), note
    records = (
        Line(gettext("out of sources"), ACCENT, rates.from_sources),
        Line(gettext("into sinks"), OK, rates.into_sinks),
    )
    if series := _known_lines(*records):
        figure = lines(series, rates.starts, per_second_text)
        yield Part("records", gettext("Records per second"), figure, 70), ""
    if series := _known_lines(Line(gettext("not read"), ACCENT, rates.pending_records)):
        figure = lines(series, rates.starts, count_text)
        yield Part("pending", gettext("Records that sources have not read"), figure, 60), ""
    if series := _known_lines(Line(gettext("lag"), ACCENT, rates.lag_ms)):
        figure = lines(series, rates.starts, duration_text, tick_step_ms)
        yield Part("lag", gettext("Source lag: age of what sources emit"), figure, 60), ""


def _known_lines(*series: Line) -> list[Line]:
    return [line for line in series if {None} != {*line.values}]


def _downtimes(view: JobView, attempts: ShownAttempts) -> list[tuple[datetime, datetime]]:
    restarts = JobStart.objects.filter(
        cluster=view.job.cluster,
        job_id__in=attempts.ids,
        at__gte=view.time_range.from_time,
        at__lte=view.time_range.to_time,
    ).exclude(kind="start")
    spans = restarts.order_by("-at").values_list("begun_at", "running_at")[:MOST_DOWNTIMES]
    return [(down_from, up_from) for down_from, up_from in spans if down_from]


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


def _trend(size_trend: SizeTrend | None) -> Trend | None:
    if (
        size_trend is None
        or size_trend.bytes_per_h is None
        or size_trend.from_time is None
        or size_trend.to_time is None
    ):
        return None
    forecast = size_trend.to_time - size_trend.from_time >= FORECAST_FROM
    return Trend(size_trend.from_time, size_trend.to_time, size_trend.bytes_per_h, forecast)
