"""The growth page: by job, by cluster, or by any label of clusters, over 7, 30 or 90 days; and
quotas.
"""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.charts.answers import answer
from webapp.charts.growth import MOST_NAMED, by_day
from webapp.fleet.list_controls import clusters_control
from webapp.fleet.models import Cluster
from webapp.growth.filters import GrowthFilters
from webapp.growth.groups import CLUSTER, JOB, Group, groupings, groups_by
from webapp.growth.job_series import series_of
from webapp.growth.models import JobGrowth, StorageQuota
from webapp.growth.quotas import set_quota, uses
from webapp.growth.sorting import SORTS, GrowthSort
from webapp.growth.trends import WINDOWS, Until, total
from webapp.growth.words import EMPTY, grouping_title, needed_days, until_date, until_text
from webapp.lib.exports import export_response
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, filter_form, searched
from webapp.lib.refusals import refusal_as_message
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.models import StorageRoot
from webapp.storage.replication_factor import NONE, common, factors_of_clusters

PAGE_SIZE = 50
GROUPS_SHOWN = 100
METRICS = {"state": _("full state"), "uploaded": _("uploaded"), "unreferenced": _("unreferenced")}
JOB_COLUMNS = tuple(field.name for field in JobGrowth._meta.concrete_fields if field.name != "id")


@require_GET
def growth(request: HttpRequest) -> HttpResponse:
    now, by = timezone.now(), _by(request)
    filters = GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    window = filters.window
    context: dict[str, Any] = {
        "by": by,
        "by_word": grouping_title(by),
        "choices": [(name, grouping_title(name)) for name in groupings()],
        "windows": WINDOWS,
        "window": window,
        "metric": _metric(request),
        "metrics": METRICS,
        "filters": filters,
        "needed": needed_days(window),
        "empty": EMPTY,
        "quotas": [
            (use, until_text(use.until), until_date(use.until, now)) for use in uses(window, now)
        ],
        "roots": StorageRoot.objects.values_list("uri", flat=True)[:GROUPS_SHOWN],
        "clusters": Cluster.objects.values_list("name", flat=True)[:GROUPS_SHOWN],
    }
    if by == JOB:
        context |= _jobs(request, filters)
    else:
        groups, factors = groups_by(by, window, now), factors_of_clusters()
        shown = [
            (group, common(factors.get(name, NONE) for name in group.members))
            for group in groups[:GROUPS_SHOWN]
        ]
        context |= {"groups": shown, "groups_count": len(groups)}
    return render(request, "growth/growth.html", context)


def _jobs(request: HttpRequest, filters: GrowthFilters) -> dict[str, Any]:
    jobs, matching = searched(filters.qs)
    shown = page(jobs, filters.sorting.keys, request.GET.get("cursor", ""), PAGE_SIZE)
    factors = factors_of_clusters()
    ended = Control(
        "ended",
        gettext("Ended or not"),
        [("", gettext("Ended or not")), ("no", gettext("not ended")), ("yes", gettext("ended"))],
    )
    controls = (
        clusters_control(),
        ended,
        Control("q", gettext("Name or job id"), id="filter-search"),
        Control("label", gettext("Label, as team=payments")),
    )
    return {
        "page": shown,
        "rows": [
            (job, until_text(_until(job)), factors.get(job.cluster, NONE)) for job in shown.rows
        ],
        "sorts": SORTS,
        "sorted_by": filters.sorting.name,
        "filter_form": filter_form(request, filters, *controls),
        "matching": matching,
    }


@require_GET
def chart(request: HttpRequest) -> HttpResponse:
    now, by, metric = timezone.now(), _by(request), _metric(request)
    filters = GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    window, newest = filters.window, now.astimezone(UTC).toordinal()
    if by == JOB:
        sort = SORTS[metric] if filters.sorting.name == "growth" else filters.sorting
        jobs = list(_ordered(filters, sort)[:MOST_NAMED])
        named = list(zip(_titles(jobs), series_of(jobs, metric, window, now), strict=True))
        others: dict[int, float] = {}
        if not set(filters.values) - {"days", "sort"}:
            others = _rest(groups_by(CLUSTER, window, now), metric, [days for _, days in named])
    else:
        groups = groups_by(by, window, now)
        named = [(group.name, getattr(group.days, metric)) for group in groups[:MOST_NAMED]]
        others = total([getattr(group.days, metric) for group in groups[MOST_NAMED:]])
    named = [
        (name, days) for name, days in named if any(newest - window < day <= newest for day in days)
    ]
    if not named:
        return JsonResponse({"figure": None, "note": "", "empty": EMPTY})
    figure = by_day(named, others, window, newest, as_bars=metric == "uploaded")
    return JsonResponse(answer(figure, _note(metric)))


def _titles(jobs: list[JobGrowth]) -> list[str]:
    """Of jobs that are called alike with their clusters."""
    names = [job.name or job.job_id for job in jobs]
    return [
        f"{name} · {job.cluster}" if names.count(name) > 1 else name
        for name, job in zip(names, jobs, strict=True)
    ]


def _rest(clusters: list[Group], metric: str, named: list[dict[int, float]]) -> dict[int, float]:
    whole, drawn = total([getattr(group.days, metric) for group in clusters]), total(named)
    return {day: rest for day, value in whole.items() if (rest := value - drawn.get(day, 0)) > 0}


def _note(metric: str) -> str:
    return {
        "state": gettext(
            "Full state of the newest checkpoint of each day; a day without one has that of the "
            "day before."
        ),
        "uploaded": gettext(
            "By all checkpoints and savepoints of each day (UTC); the last day is not over."
        ),
        "unreferenced": gettext(
            "Orphans, and files without a reference below the age guard, as the last audits of "
            "each day found them."
        ),
    }[metric]


@require_GET
def export(request: HttpRequest, form: str) -> HttpResponseBase:
    """All matching jobs, or all groups, streamed."""
    by = _by(request)
    filters = GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    if by == JOB:
        rows = _ordered(filters, filters.sorting).values(*JOB_COLUMNS)
        return export_response(form, "weir-growth", JOB_COLUMNS, rows.iterator(1_000))
    filters.check()
    plain = list(group_rows(by, filters.window))
    return export_response(
        form, f"weir-growth-by-{by}", tuple(plain[0]) if plain else ("name",), plain
    )


def group_rows(by: str, window: int) -> Iterator[dict[str, Any]]:
    for group in groups_by(by, window, timezone.now()):
        yield {
            "by": by,
            "name": group.name,
            "window_days": window,
            "clusters": group.clusters,
            "jobs": group.jobs,
            **asdict(group.figures),
        }


@operators_only
@require_POST
def quota(request: HttpRequest) -> HttpResponse:
    kind, _, subject = request.POST.get("subject", "").partition(":")
    with refusal_as_message(request):
        row = set_quota(
            kind, subject, request.POST.get("size", ""), request.user.get_username(), timezone.now()
        )
        messages.success(request, gettext("The quota of %(row)s is set.") % {"row": row})
    return redirect("growth")


@operators_only
@require_POST
def remove_quota(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(StorageQuota, pk=pk)
    row.delete()
    messages.success(request, gettext("%(row)s has no quota any more.") % {"row": row})
    return redirect("growth")


def _ordered(filters: GrowthFilters, sort: GrowthSort) -> Any:
    return (
        filters.checked().annotate(sort_key=sort.key).order_by(*(key.order_by for key in sort.keys))
    )


def _until(job: JobGrowth) -> Until:
    return Until(job.days_to_timeout, job.days_to_timeout_soonest, job.days_to_timeout_latest)


def _by(request: HttpRequest) -> str:
    return given if (given := request.GET.get("by", JOB)) in groupings() else JOB


def _metric(request: HttpRequest) -> str:
    given = request.GET.get("metric", "")
    if given in METRICS:
        return given
    sort = request.GET.get("sort", "")
    return sort if sort in METRICS else "state"
