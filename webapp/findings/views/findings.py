from collections import Counter
from datetime import timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from spark_jobs.diagnosis.finding_hosts import hosts_of
from spark_jobs.diagnosis.registry import all_rules
from webapp.findings.badges import CONFIDENCE_MEANS, SEVERITY_BADGES
from webapp.findings.choices import FindingState
from webapp.findings.dumped_vertices import dumped_vertex_of
from webapp.findings.filters import ANY_STATE, BURN, PageFilters
from webapp.findings.list_controls import rule_control, severity_control
from webapp.findings.models import Finding
from webapp.findings.presentation import present, with_known_bugs
from webapp.findings.runbooks import runbook
from webapp.fleet.list_controls import clusters_control
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import drawable
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form
from webapp.lib.row_numbers import row_number
from webapp.lib.timeranges import around

PAGE_SIZE = 50
SHORTEST_RANGE = timedelta(minutes=30)


def findings(request: HttpRequest) -> HttpResponse:
    filters = PageFilters.from_page(request.GET, Finding.objects.all())
    listed = page(
        filters.qs.defer("cause", "evidence", "data"),
        filters.keys,
        request.GET.get("cursor", ""),
        PAGE_SIZE,
    )
    attempts = {(row.cluster, row.job_name, row.job_id) for row in listed.rows}
    attempts_by_name = Counter(name for _cluster, name, _job_id in attempts if name)
    context: dict[str, Any] = {
        "filters": filters,
        "repeated_names": [name for name, number in attempts_by_name.items() if number > 1],
        "state": filters.values.get("state"),
        "filter_form": filter_form(
            request,
            filters,
            clusters_control(),
            rule_control(),
            severity_control(),
            Control(
                "state",
                gettext("State"),
                [
                    (FindingState.OPEN, gettext("open")),
                    (FindingState.CLOSED, gettext("closed")),
                    (ANY_STATE, gettext("open and closed")),
                ],
            ),
            Control(
                "sort",
                gettext("Order"),
                [("", gettext("usual order")), (BURN, gettext("by the objective that burns"))],
            ),
        ),
        "page": listed,
        "rows": [(row, SEVERITY_BADGES.get(row.severity)) for row in listed.rows],
        "matching": capped_count(filters.qs),
    }
    return render(request, "findings/findings.html", context)


def finding(request: HttpRequest, pk: int) -> HttpResponse:
    row = Finding.objects.filter(pk=row_number(pk)).first()
    if row is None:
        raise Http404(
            gettext(
                "There is no such finding: more data of its minute did not confirm it, it is no "
                "longer stored, or you may not see it."
            )
        )
    rule = all_rules().get(row.rule)
    [presented] = with_known_bugs([present(row)])
    job = (
        JobCurrent.objects.filter(cluster=row.cluster, job_id=row.job_id)
        .only("cluster", "job_id", "name")
        .first()
    )
    first, last = drawable(row.first_seen), drawable(row.last_seen)
    context: dict[str, Any] = {
        "finding": row,
        "shown": presented,
        "rule": rule,
        "runbook": runbook(rule.id) if rule else [],
        "confidence_means": CONFIDENCE_MEANS.get(row.confidence, ""),
        "job": job,
        "hosts": hosts_of(row.data, row.related),
    }
    if job and (vertex_id := dumped_vertex_of(row)):
        context["dumped_vertex_id"] = vertex_id
    if job:
        duration = last - first
        margin = max(duration, (SHORTEST_RANGE - duration) / 2)
        context["at_that_time"] = around(first, last, margin)
    return render(request, "findings/finding.html", context)
