"""Figures over time: events on a host; memory, CPU and collections of a TaskManager."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.answers import answer_or_nothing
from webapp.charts.over_time import COLOURS, Events, Line, Point, bars, lines, thin_out
from webapp.charts.theme import CRIT, OTHER, UPLOADED, WARN
from webapp.hosts.lives import lost
from webapp.hosts.models import HostEvent
from webapp.hosts.views import clusters_of_page
from webapp.lib import scopes
from webapp.lib.timeranges import last_day
from webapp.work.lake import read_newest

log = logging.getLogger(__name__)

MOST_EVENTS = MOST_SAMPLES = 20_000
GIB = 1 << 30
COLUMNS = (
    "ts",
    "heap_used_bytes",
    "non_heap_used_bytes",
    "direct_used_bytes",
    "network_memory_used_bytes",
    "managed_memory_used_bytes",
    "cpu_load",
    "cpu_cores",
    "cpu_ms",
    "gc_ms",
)
Samples = Sequence[Mapping[str, Any]]


@require_GET
def host_events(request: HttpRequest, host: str) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    start, end = time_range.from_time, time_range.to_time
    _, clusters = clusters_of_page(request, host)
    kinds = events_of({"host": host, "cluster__in": clusters}, start, end)
    return JsonResponse(answer_or_nothing(bars(kinds, start, end)))


def events_of(where: Mapping[str, Any], start: datetime, end: datetime) -> list[Events]:
    """The newest events of each kind, on hosts selected by ``where``. Two queries."""
    rows = HostEvent.objects.filter(**where, at__gte=start, at__lte=end).order_by("-at", "-id")
    instants: dict[str, list[datetime]] = {}
    for kind, at in rows.values_list("kind", "at")[:MOST_EVENTS]:
        instants.setdefault(kind, []).append(at)
    losses = lost(start, end).filter(**where).values_list("ended_at", flat=True)[:MOST_EVENTS]
    return [
        Events(gettext("TaskManagers lost"), [at for at in losses if at], CRIT),
        Events(gettext("failed tasks"), instants.get("failure", ()), WARN),
        Events(gettext("checkpoints declined"), instants.get("decline", ()), UPLOADED),
        Events(gettext("checkpoints expired"), instants.get("expired", ()), OTHER),
    ]


@require_GET
def taskmanager_samples(
    request: HttpRequest, cluster: str, taskmanager_id: str, key: str
) -> HttpResponse:
    """``key``: memory, cpu or collections."""
    if not scopes.current().holds(cluster):  # reads of the lake are not restricted
        raise Http404(gettext("No TaskManager of this name was seen on this cluster."))
    time_range = last_day(request, timezone.now())
    start, end = time_range.from_time, time_range.to_time
    samples = _read({"cluster": cluster, "taskmanager_id": taskmanager_id}, start, end)
    if len(samples) > 1:  # a life of minutes would be a dot in a day
        start, end = samples[0]["ts"], samples[-1]["ts"]
    series: dict[str, list[Point]] = {
        "memory": {
            gettext("heap"): _gib(samples, "heap_used_bytes"),
            gettext("beside the heap"): _gib(samples, "non_heap_used_bytes"),
            gettext("direct"): _gib(samples, "direct_used_bytes"),
            gettext("network"): _gib(samples, "network_memory_used_bytes"),
            gettext("managed"): _gib(samples, "managed_memory_used_bytes"),
        },
        "cpu": {gettext("cores in use"): _cores(samples)},
        "collections": {gettext("share of the time"): _rates(samples, "gc_ms")},
    }[key]
    drawn_lines = [
        Line(name, drawn_points, colour)
        for (name, points), colour in zip(series.items(), COLOURS, strict=False)
        if (drawn_points := thin_out(points, start, end))
    ]
    units: dict[str, dict[str, object]] = {
        "memory": {"ticksuffix": " GiB"},
        "cpu": {"title": {"text": gettext("cores")}},
        "collections": {"tickformat": ".2~%"},
    }
    figure = lines(drawn_lines, start, end, rangemode="tozero", **units[key])
    return JsonResponse(answer_or_nothing(figure))


def _read(where: dict[str, str | int], start: datetime, end: datetime) -> Samples:
    """Samples by time, only the newest of very many; none if the lake did not answer."""
    try:
        rows, _since = read_newest("taskmanagers", where, start, end, COLUMNS, MOST_SAMPLES)
    except Exception:  # The lake may raise any error.
        log.exception("Samples of TaskManagers could not be read from the lake")
        return ()
    return sorted(rows.to_pylist(), key=lambda row: row["ts"])


def _gib(samples: Samples, name: str) -> list[Point]:
    return [(row["ts"], None if row[name] is None else row[name] / GIB) for row in samples]


def _cores(samples: Samples) -> list[Point]:
    """Used cores: from the counter of CPU time, else from the machine's load."""
    if any(row["cpu_ms"] is not None for row in samples):
        return _rates(samples, "cpu_ms")
    return [
        (row["ts"], row["cpu_load"] * row["cpu_cores"])
        for row in samples
        if row["cpu_load"] is not None and row["cpu_cores"]
    ]


def _rates(samples: Samples, counter: str) -> list[Point]:
    """Rates of a counter in ms, per ms, between samples; none over a restart, which resets it."""
    known = [(row["ts"], row[counter]) for row in samples if row[counter] is not None]
    return [
        (at, (value - previous) / ((at - previous_at).total_seconds() * 1000))
        for (previous_at, previous), (at, value) in pairwise(known)
        if at > previous_at and value >= previous
    ]
