"""Sliders on the thresholds of one rule, with a preview on the past of one job.

Looking changes nothing; alert settings save them.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from webapp.alerting.what_if.past_windows import read_past
from webapp.alerting.what_if.preview import WhatIfOutcome, in_force, judged, proposed

from spark_jobs.diagnosis.registry import all_rules
from webapp.charts.evidence import bars
from webapp.fleet.job_lookup import JobView, look_up

log = logging.getLogger(__name__)

SPAN = timedelta(days=7)
LISTED = 8


def what_if(request: HttpRequest, cluster: str, job_id: str, rule_id: str) -> HttpResponse:
    """The page, or only its preview where htmx asks for it."""
    rule = all_rules().get(rule_id)
    if rule is None or not rule.leaves_minutes:
        raise Http404(f"There is no rule called {rule_id[:100]} that could be tried on the past.")
    view = look_up(request, cluster, job_id)
    start, end = _span(view)
    present = in_force(view.job)
    with_others, sliders, errors = proposed(rule, present, request.GET)
    context: dict[str, Any] = {
        "rule": rule,
        "rules": [rule for rule in all_rules().values() if rule.thresholds and rule.leaves_minutes],
        "view": view,
        "job": view.job,
        "sliders": sliders,
        "errors": errors,
        "moved": any(slider.is_moved for slider in sliders),
        "listed": LISTED,
        "time_range": view.time_range,
    }
    try:
        past = read_past(view.job, start, end, [rule.family])
    except Exception:  # The lake may be any storage, with any error; the sliders do not need it.
        log.exception("Samples of %s on %s could not be read from the lake", job_id, cluster)
        context["unreadable"] = True
    else:
        now, then = judged(rule, past, present), judged(rule, past, with_others)
        context |= {
            "now_outcome": now,
            "then_outcome": then,
            "judged_minutes": len(past.windows),
            "from": past.whole_from,
            "to": end,
            "cut": past.whole_from > start,
            "now_bars": _bars(now, past.whole_from, end),
            "then_bars": _bars(then, past.whole_from, end),
        }
    return render(
        request,
        "findings/_preview.html" if "HX-Request" in request.headers else "findings/what_if.html",
        context,
    )


def _span(view: JobView) -> tuple[datetime, datetime]:
    """The last week of the job; of a job that is past, its own last week."""
    end = view.end_of_life if view.is_past else view.now
    return max(end - SPAN, view.whole.from_time), end


def _bars(outcome: WhatIfOutcome, start: datetime, end: datetime) -> Any:
    return bars(((one.first, one.last, one.finding.title) for one in outcome.fired), start, end)
