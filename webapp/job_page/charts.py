"""Figures of the job page as JSON, fetched by the page once they come into view."""

import logging
from typing import Any

import plotly.graph_objects as go
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext

from webapp.charts.annotations import Annotation
from webapp.charts.answers import answer
from webapp.charts.checkpoints import timeline
from webapp.charts.pools import heat_map
from webapp.charts.sizes import Trend, size_over_time
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.line_trend import trend_of
from webapp.checkpoints.models import SizeTrend
from webapp.findings.job_findings import of_job
from webapp.fleet.job_lookup import JobView, look_up
from webapp.fleet.models import JobAnnotation
from webapp.fleet.shown_attempts import ShownAttempts, shown_attempts
from webapp.lib.messages.rendering import localised
from webapp.lib.quantities import bytes_text
from webapp.lib.timeranges import iso_text
from webapp.pressure.heat import read_heat

log = logging.getLogger(__name__)

MOST_ANNOTATIONS = 500


def checkpoints(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    start, end = view.time_range.from_time, view.time_range.to_time
    attempts = shown_attempts(request, view)
    bars, total = facts_of.bars(facts_of.of_attempts(cluster, attempts.ids, start, end), cluster)
    if not bars:
        return _empty(
            gettext("No checkpoint in this time"),
            gettext("None was triggered, or none was seen. Choose a longer time range."),
        )
    figure, note = timeline(
        bars,
        attempts.drawn_from,
        end,
        view.job.checkpoint_timeout_ms,
        _annotations(view, attempts),
        total,
    )
    return _drawn(figure, note)


def size(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    start, end = view.time_range.from_time, view.time_range.to_time
    attempts = shown_attempts(request, view)
    sizes = facts_of.sizes(facts_of.of_attempts(cluster, attempts.ids, start, end))
    if sizes is None:
        return _empty(
            gettext("No completed checkpoint in this time"),
            gettext("Sizes are known once one completes."),
        )
    served = trend_of(view.job, () if attempts.alone else attempts.others, end)
    figure, note = size_over_time(
        sizes,
        attempts.drawn_from,
        end,
        _trend(served),
        _annotations(view, attempts),
        facts_of.links(cluster),
    )
    return _drawn(figure, " ".join(filter(None, (_forecast(served), note))))


def pools(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    names = {
        v["vertex_id"]: v.get("name") or ""
        for v in (view.job.graph or {}).get("vertices") or ()
        if v.get("vertex_id")
    }
    attempts = shown_attempts(request, view)
    try:
        heat = read_heat(
            cluster,
            attempts.ids,
            names,
            view.job.parallelism,
            attempts.drawn_from,
            view.time_range.to_time,
        )
    except (
        Exception
    ):  # The lake may be any storage, with any error; the page around the chart must live on.
        log.exception("Pool samples of %s on %s could not be read from the lake", job_id, cluster)
        return _empty(
            gettext("The lake could not be read"),
            gettext("The rest of the page does not need it. The server's log has the reason."),
        )
    if not heat.rows:
        return _empty(
            gettext("No buffer samples in this time"),
            gettext("Pool usage is sampled while a job runs and its cluster answers."),
        )
    return _drawn(heat_map(heat.rows, heat.start, heat.end), heat.note)


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
    """Where each notable matter began; a click opens it."""
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
    low = served.bytes_per_h_low
    high = served.bytes_per_h_high
    forecast = served.forecast_24h_bytes is not None
    return Trend(served.from_time, served.to_time, served.bytes_per_h, low, high, forecast)


def _forecast(served: SizeTrend | None) -> str:
    if served is None or served.forecast_24h_bytes is None:
        return ""
    low = bytes_text(served.forecast_24h_low_bytes)
    high = bytes_text(served.forecast_24h_high_bytes)
    return gettext("At this slope %(forecast_24h_bytes)s in 24 h (%(low)s to %(high)s).") % {
        "forecast_24h_bytes": bytes_text(served.forecast_24h_bytes),
        "low": low,
        "high": high,
    }


def _drawn(figure: go.Figure, note: str) -> HttpResponse:
    return JsonResponse(answer(figure, note))


def _empty(title: str, text: str) -> HttpResponse:
    answer: dict[str, Any] = {"figure": None, "note": "", "empty": {"title": title, "text": text}}
    return JsonResponse(answer)
