from datetime import datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext

from spark_jobs.diagnosis.finding_hosts import hosts_of
from spark_jobs.diagnosis.registry import all_rules
from webapp.charts.annotations import Annotation
from webapp.charts.answers import answer
from webapp.charts.evidence import PlottedOccurrence, over_time
from webapp.findings.badges import CONFIDENCE_MEANS, SEVERITY_BADGES
from webapp.findings.choices import FindingState
from webapp.findings.dumped_vertices import dumped_vertex_of
from webapp.findings.figures import figure_text
from webapp.findings.filters import ANY_STATE, BURN, PageFilters
from webapp.findings.list_controls import rule_control, severity_control
from webapp.findings.models import Finding, FindingOccurrence
from webapp.findings.presentation import shown, with_known_bugs
from webapp.findings.runbooks import runbook
from webapp.findings.thresholds import rows
from webapp.fleet.attempts import ids_by_first_attempt
from webapp.fleet.list_controls import clusters_control
from webapp.fleet.models import JobAnnotation, JobCurrent
from webapp.lib.instants import drawable
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form
from webapp.lib.messages.rendering import localised
from webapp.lib.row_numbers import row_number
from webapp.lib.timeranges import around

PAGE_SIZE = 50
MOST_OCCURRENCES = 20_000
MOST_BESIDE = 12
MOST_ANNOTATIONS = 200
LEAST_AIR = timedelta(minutes=2)
LEAST_SHOWN = timedelta(minutes=30)


def findings(request: HttpRequest) -> HttpResponse:
    filters = PageFilters.from_page(request.GET, Finding.objects.all())
    listed = page(
        filters.qs.defer("cause", "evidence", "data"),
        filters.keys,
        request.GET.get("cursor", ""),
        PAGE_SIZE,
    )
    context: dict[str, Any] = {
        "filters": filters,
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
                "There is no such finding: more data of its minute did not confirm it, or it is no "
                "longer stored."
            )
        )
    rule = all_rules().get(row.rule)
    [about] = with_known_bugs([shown(row)])
    job = (
        JobCurrent.objects.filter(cluster=row.cluster, job_id=row.job_id)
        .only("cluster", "job_id", "name")
        .first()
    )
    first, last = drawable(row.first_seen), drawable(row.last_seen)
    beside = Finding.objects.of_job(row.cluster, row.job_id).filter(
        first_seen__lte=last + LEAST_AIR, last_seen__gte=first - LEAST_AIR
    )
    context: dict[str, Any] = {
        "finding": row,
        "shown": about,
        "rule": rule,
        "runbook": runbook(rule.id) if rule else [],
        "thresholds": rows(rule) if rule else [],
        "confidence_means": CONFIDENCE_MEANS.get(row.confidence, ""),
        "job": job,
        "hosts": hosts_of(row.data, row.related),
        "beside": [
            shown(earlier) for earlier in beside.exclude(pk=row.pk).worst_first()[:MOST_BESIDE]
        ]
        if row.job_id
        else [],
    }
    if job and (vertex_id := dumped_vertex_of(row)):
        context["dumped_vertex_id"] = vertex_id
    if job:
        context["at_that_time"] = around(first, last, _air(first, last))
    return render(request, "findings/finding.html", context)


def chart(request: HttpRequest, pk: int) -> HttpResponse:
    """The first figure of its evidence, in all occurrences of this subject around its time."""
    finding = get_object_or_404(Finding, pk=row_number(pk))
    drawn = next(
        (row for row in finding.evidence or () if isinstance(row, dict) and row.get("name")), None
    )
    if drawn is None:
        return _empty(
            gettext("No figure"),
            gettext("This finding rests on events, not on a figure that could be drawn."),
        )
    name, unit = str(drawn["name"]), str(drawn.get("unit") or "")
    first, last = drawable(finding.first_seen), drawable(finding.last_seen)
    shown_time = around(first, last, _air(first, last))
    start, end = shown_time.from_time, shown_time.to_time
    job = (finding.cluster, finding.first_attempt_id)
    job_ids = ids_by_first_attempt([job])[job]
    seen = FindingOccurrence.objects.filter(
        cluster=finding.cluster,
        job_id__in=job_ids,
        rule=finding.rule,
        subject_id=finding.subject_id,
        seen_at__gte=start,
        seen_at__lte=end,
    )
    occurrences = [
        PlottedOccurrence(at, float(row["value"]), severity, _words(row, unit))
        for at, severity, evidence in reversed(
            seen.order_by("-seen_at").values_list("seen_at", "severity", "evidence")[
                :MOST_OCCURRENCES
            ]
        )
        for row in evidence[:1]
        if row.get("name") == name and _is_number(row.get("value"))
    ]
    if not occurrences:
        return _empty(
            gettext("Nothing to draw"),
            gettext("%(name)s is not a number, or its windows are no longer stored.")
            % {"name": localised(name)},
        )
    threshold = drawn.get("threshold")
    happened = JobAnnotation.objects.filter(
        cluster=finding.cluster, job_id__in=job_ids, at__gte=start, at__lte=end
    ).order_by("-at")
    events = [
        Annotation(at, kind, localised(label or subject or kind))
        for at, kind, label, subject in happened.values_list("at", "kind", "label", "subject")[
            :MOST_ANNOTATIONS
        ]
    ]
    limit = float(threshold) if threshold is not None and _is_number(threshold) else None
    figure, note = over_time(
        localised(name),
        occurrences,
        start,
        end,
        limit,
        lambda value: figure_text(value, unit),
        events,
    )
    return JsonResponse(answer(figure, note))


def _air(first: datetime, last: datetime) -> timedelta:
    return max(last - first, (LEAST_SHOWN - (last - first)) / 2)


def _words(row: dict[str, Any], unit: str) -> str:
    return figure_text(row.get("value"), unit) + (
        f", {localised(row['note'])}" if row.get("note") else ""
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _empty(title: str, text: str) -> HttpResponse:
    return JsonResponse({"figure": None, "note": "", "empty": {"title": title, "text": text}})
