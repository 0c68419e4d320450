"""Totals of storage over time as a figure."""

from collections import defaultdict
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from spark_jobs.storage_words import VERDICTS
from webapp.charts.answers import answer
from webapp.charts.storage import StoragePoint, history
from webapp.storage.newest_audits import loaded_figures
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
    newest_first = list(reversed(rows.values("root", "as_of", *_NAMES)[:MOST_AUDITS]))
    if not newest_first:
        empty = {
            "title": gettext("No audit yet"),
            "text": gettext("Totals show from the first audit on."),
        }
        return JsonResponse({"figure": None, "note": "", "empty": empty})
    points = _points(newest_first)
    note = (
        gettext("%(points)s audits.") % {"points": f"{len(points):,}"}
        if len(points) > 1
        else gettext("One audit so far: a trend needs a second one.")
    )
    return JsonResponse(answer(history(points), note))


def _points(rows: list[dict[str, Any]]) -> list[StoragePoint]:
    last: dict[str, dict[str, Any]] = {}
    at_times: dict[datetime, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        at_times[row["as_of"]].append(row)
    points = []
    for at, together in at_times.items():
        last |= {row["root"]: row for row in together}
        points.append(point({name: sum(row[name] for row in last.values()) for name in _NAMES}, at))
    return points
