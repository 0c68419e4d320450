"""Figures of the storage pages as JSON."""

from collections import defaultdict
from datetime import datetime
from typing import Any

import plotly.graph_objects as go
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from spark_jobs.storage_words import VERDICTS
from webapp.charts.answers import answer
from webapp.charts.storage import SizeStep, StoragePoint, file_sizes, history
from webapp.storage.newest_audits import latest_of, loaded_figures
from webapp.storage.presentation import MISSING, point
from webapp.storage.views.parameters import parameter

MOST_AUDITS = 2_000
_NAMES = [f"{name}_{unit}" for name in (*VERDICTS, MISSING) for unit in ("bytes", "files")]


@require_GET
def over_time(request: HttpRequest) -> HttpResponse:
    """Of one root, or of all together: at each audit what was known of every root by then."""
    uri = parameter(request, "uri")
    rows = loaded_figures().order_by("-as_of", "-id")
    if uri:
        rows = rows.filter(root=uri)
    found = list(reversed(rows.values("root", "as_of", *_NAMES)[:MOST_AUDITS]))
    if not found:
        return _empty(gettext("No audit yet"), gettext("Totals show from the first audit on."))
    points = _points(found)
    return _drawn(
        history(points),
        gettext("%(points)s audits.") % {"points": f"{len(points):,}"}
        if len(points) > 1
        else gettext("One audit so far: a trend needs a second one."),
    )


def _points(rows: list[dict[str, Any]]) -> list[StoragePoint]:
    """Roots are audited at different times; what one last was stands until it is audited again."""
    last: dict[str, dict[str, Any]] = {}
    at_times: dict[datetime, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        at_times[row["as_of"]].append(row)
    points = []
    for at, together in at_times.items():
        last |= {row["root"]: row for row in together}
        points.append(point({name: sum(row[name] for row in last.values()) for name in _NAMES}, at))
    return points


@require_GET
def sizes(request: HttpRequest) -> HttpResponse:
    figures = latest_of(parameter(request, "uri"))
    if figures is None or not figures.size_histogram:
        return _empty(gettext("No files"), gettext("The last audit found none, or none was made yet."))
    steps = [SizeStep(int(step["le_bytes"]), int(step["files"]), int(step["bytes"])) for step in figures.size_histogram]
    return _drawn(file_sizes(_filled(steps)), "")


def _filled(steps: list[SizeStep]) -> list[SizeStep]:
    """Empty steps between others are drawn as such."""
    known = {step.le_bytes: step for step in steps}
    first, last = min(known).bit_length(), max(known).bit_length()
    powers = [1 << bit - 1 for bit in range(first, last + 1)] if min(known) > 0 else sorted(known)
    return [known.get(power, SizeStep(power, 0, 0)) for power in powers]


def _drawn(figure: go.Figure, note: str) -> HttpResponse:
    return JsonResponse(answer(figure, note))


def _empty(title: str, text: str) -> HttpResponse:
    return JsonResponse({"figure": None, "note": "", "empty": {"title": title, "text": text}})
