"""The page of a job before and after something that happened to it; without an instant, what there is to choose from."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from webapp.before_after.job_change import Mark, job_change, marks_of
from webapp.before_after.parameters import ChangeParameters
from webapp.before_after.windows import LENGTHS
from webapp.before_after.words import TONES, figure, sentence, verdict
from webapp.charts.annotations import LOOK
from webapp.fleet.job_lookup import look_up
from webapp.lib.timeranges import iso_text


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    asked = ChangeParameters.of_page(request.GET)
    at: datetime | None = asked.values.get("at")
    window = asked.values.get("window") or "1h"
    context: dict[str, Any] = {
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
        "filters": asked,
        "at": at,
        "window": window,
        "lengths": LENGTHS,
        "to_choose": [_shown(one) for one in marks_of(view.job, view.time_range.from_time, view.time_range.to_time)] if at is None else [],
    }
    if at is not None:
        found = job_change(view.job, at, LENGTHS[window], view.now, kept_for_good=view.is_recording)
        rows: list[tuple[Any, ...]] = [
            (one, TONES[one.comparison.state], *_figures(one), sentence(one.comparison)) for one in (*found.measures, *found.pressure)
        ]
        context |= {
            "found": found,
            "verdict": verdict(found),
            "measures": rows[: len(found.measures)],
            "pressure": sorted(rows[len(found.measures) :], key=lambda row: (row[1][1] in "=?", row[0].vertex, row[0].name)),
            "tallies": [(one.name, figure(one.before, one.unit), figure(one.after, one.unit)) for one in found.tallies],
            "marks": [_shown(one) for one in found.marks],
            "others": [_shown(one) for one in found.others],
        }
    return render(request, "before_after/before_after.html", context)


def _figures(one: Any) -> tuple[str, ...]:
    sides = one.comparison.before, one.comparison.after
    return tuple(text for side in sides for text in (figure(side.median, one.unit), _scatter(side, one.unit)))


def _scatter(side: Any, unit: str) -> str:
    if not side.count:
        return "none"
    count = f"{side.count:,} value{'' if side.count == 1 else 's'}"
    return count if side.count == 1 else f"{figure(side.low, unit)} to {figure(side.high, unit)}, {count}"


def _shown(mark: Mark) -> tuple[Mark, str, str]:
    return mark, LOOK.get(mark.kind, ("•", ""))[0], urlencode({"at": iso_text(mark.at)})
