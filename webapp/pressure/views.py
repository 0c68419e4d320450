"""The newest sample of a vertex's subtasks, a part of two pages, and the vertex's charts."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from statistics import fmean, median
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.answers import answer_or_nothing
from webapp.charts.over_time import Line, lines, thin_out
from webapp.charts.theme import ACCENT, CRIT, UNKNOWN, WARN
from webapp.findings.models import Finding
from webapp.findings.presentation import present
from webapp.fleet.job_lookup import look_up, vertex_or_404
from webapp.pressure.models import PressureWindow
from webapp.work.lake import read_newest

LOOK_BACK = timedelta(minutes=15)
MOST_SAMPLES = 20
_MEASURED = (
    "in_pool_usage",
    "out_pool_usage",
    "busy_ms_per_s",
    "backpressured_ms_per_s",
    "records_in_per_s",
    "records_out_per_s",
    "attempt",
    "host",
    "taskmanager_id",
    "task_state",
)


Subtask = Mapping[str, Any]
"""``subtask``: its number. ``over_median``: records in, over those of the median subtask."""


def newest_sample(
    cluster: str, job_id: str, vertex_id: str, until: datetime
) -> tuple[datetime | None, list[Subtask]]:
    """The newest sample before ``until``; (None, []) if there is none. Raises storage errors."""
    where = {"cluster": cluster, "job_id": job_id, "vertex_id": vertex_id}
    table, _since = read_newest(
        "vertex_metrics", where, until - LOOK_BACK, until, ("ts", *_MEASURED), MOST_SAMPLES
    )
    newest = max(table.to_pylist(), key=lambda row: row["ts"], default=None)
    return (newest["ts"], _subtasks(newest)) if newest else (None, [])


def busiest_first(subtasks: Iterable[Subtask]) -> list[Subtask]:
    """Subtasks without a report come last."""
    return sorted(
        subtasks,
        key=lambda subtask: (
            subtask["busy_ms_per_s"] is None,
            -(subtask["busy_ms_per_s"] or 0),
            subtask["subtask"],
        ),
    )


def _subtasks(row: Mapping[str, Any]) -> list[Subtask]:
    rates = row["records_in_per_s"] or ()
    known_rates = [rate for rate in rates if rate is not None]
    median_rate = median(known_rates) if known_rates else 0
    ratios = [rate / median_rate if rate is not None and median_rate else None for rate in rates]
    columns = {name: row[name] or () for name in _MEASURED} | {"over_median": ratios}
    return [
        {"subtask": number, **dict(zip(columns, figures, strict=True))}
        for number, figures in enumerate(zip_longest(*columns.values()))
    ]


MOST_WINDOWS = 20_000


@dataclass(frozen=True)
class DrawnColumn:
    """A column of ``pressure_window`` times ``factor``; ``pick`` merges the values of a slice."""

    column: str
    name: str
    colour: str
    factor: float = 1.0
    pick: Callable[[Sequence[float]], float] = max


CHARTS: dict[str, tuple[DrawnColumn, ...]] = {
    "pressure": (
        DrawnColumn("busy_ms_per_s_max", "busiest subtask", WARN, 1e-3),
        DrawnColumn("busy_ms_per_s_mean", "busy, all subtasks", ACCENT, 1e-3, fmean),
        DrawnColumn("backpressured_ms_per_s_max", "most back-pressured subtask", CRIT, 1e-3),
        DrawnColumn("idle_ms_per_s_mean", "idle, all subtasks", UNKNOWN, 1e-3, fmean),
    ),
    "records": (
        DrawnColumn("records_in_per_s", "records in per second", ACCENT, pick=fmean),
        DrawnColumn("records_out_per_s", "records out per second", WARN, pick=fmean),
    ),
    "pools": (
        DrawnColumn("in_pool_max", "fullest input pool", ACCENT),
        DrawnColumn("out_pool_max", "fullest output pool", WARN),
    ),
}

log = logging.getLogger(__name__)

PAGE_SIZE = 50
FINDINGS_SHOWN = 3


@require_GET
def subtasks(request: HttpRequest, cluster: str, job_id: str, vertex_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    start, end = view.time_range.from_time, view.time_range.to_time
    findings = Finding.objects.of_job(cluster, job_id).filter(
        subject_kind="vertex", subject_id=vertex_id, first_seen__lte=end, last_seen__gte=start
    )
    context: dict[str, Any] = {
        "view": view,
        "job": view.job,
        "vertex": vertex_or_404(view.job, vertex_id),
        "findings": [present(finding) for finding in findings.worst_first()[:FINDINGS_SHOWN]],
    }
    try:
        sampled_at, subtask_rows = newest_sample(
            cluster, job_id, vertex_id, min(view.time_range.to_time, view.at)
        )
    except Exception:  # The lake may raise any error.
        log.exception("Subtasks of vertex %s of %s could not be read", vertex_id, job_id)
        return render(request, "pressure/_subtasks.html", context | {"is_unreadable": True})
    pages = Paginator(busiest_first(subtask_rows), PAGE_SIZE)
    context |= {"sampled_at": sampled_at, "page": pages.get_page(request.GET.get("page"))}
    return render(request, "pressure/_subtasks.html", context)


@require_GET
def chart(
    request: HttpRequest, cluster: str, job_id: str, vertex_id: str, key: str
) -> HttpResponse:
    """``key``: one of ``CHARTS``."""
    view = look_up(request, cluster, job_id)
    start, end = view.time_range.from_time, view.time_range.to_time
    windows = PressureWindow.objects.filter(
        cluster=cluster,
        job_id=job_id,
        vertex_id=vertex_id,
        window_start__gte=start,
        window_start__lte=end,
    ).order_by("-window_start")
    columns = CHARTS[key]
    rows = list(
        windows.values_list("window_start", *(column.column for column in columns))[:MOST_WINDOWS]
    )
    series = []
    for position, column in enumerate(columns, start=1):
        points = [
            (row[0], None if row[position] is None else row[position] * column.factor)
            for row in reversed(rows)
        ]
        if drawn_points := thin_out(points, start, end, column.pick):
            series.append(Line(gettext(column.name), drawn_points, column.colour))
    axis: dict[str, object] = {} if key == "records" else {"tickformat": ".0%", "range": [0, 1.05]}
    return JsonResponse(answer_or_nothing(lines(series, start, end, rangemode="tozero", **axis)))
