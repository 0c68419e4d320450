"""The growth page: jobs over 7, 30 or 90 days."""

from datetime import UTC
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from webapp.charts.answers import answer
from webapp.charts.growth import MOST_NAMED, by_day
from webapp.fleet.list_controls import clusters_control
from webapp.growth.filters import GrowthFilters
from webapp.growth.job_series import series_of
from webapp.growth.models import JobGrowth
from webapp.growth.sorting import SORTS, GrowthSort
from webapp.growth.trends import WINDOWS, Until
from webapp.growth.words import EMPTY, needed_days, until_text
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, filter_form, searched
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.replication_factor import NONE, factors_of_clusters

PAGE_SIZE = 50
METRICS = {"state": _("full state"), "uploaded": _("uploaded"), "unreferenced": _("unreferenced")}


@require_GET
def growth(request: HttpRequest) -> HttpResponse:
    filters = GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    context: dict[str, Any] = {
        "windows": WINDOWS,
        "window": filters.window,
        "metric": _metric(request),
        "metrics": METRICS,
        "filters": filters,
        "needed": needed_days(filters.window),
        "empty": EMPTY,
        **_jobs(request, filters),
    }
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
    now, metric = timezone.now(), _metric(request)
    filters = GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    window, newest = filters.window, now.astimezone(UTC).toordinal()
    sort = SORTS[metric] if filters.sorting.name == "growth" else filters.sorting
    jobs = list(_ordered(filters, sort)[:MOST_NAMED])
    named = list(zip(_titles(jobs), series_of(jobs, metric, window, now), strict=True))
    named = [
        (name, days) for name, days in named if any(newest - window < day <= newest for day in days)
    ]
    if not named:
        return JsonResponse({"figure": None, "note": "", "empty": EMPTY})
    figure = by_day(named, window, newest, as_bars=metric == "uploaded")
    return JsonResponse(answer(figure, _note(metric)))


def _titles(jobs: list[JobGrowth]) -> list[str]:
    names = [job.name or job.job_id for job in jobs]
    return [
        f"{name} · {job.cluster}" if names.count(name) > 1 else name
        for name, job in zip(names, jobs, strict=True)
    ]


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


def _ordered(filters: GrowthFilters, sort: GrowthSort) -> Any:
    return (
        filters.checked().annotate(sort_key=sort.key).order_by(*(key.order_by for key in sort.keys))
    )


def _until(job: JobGrowth) -> Until:
    return Until(job.days_to_timeout, job.days_to_timeout_soonest, job.days_to_timeout_latest)


def _metric(request: HttpRequest) -> str:
    given = request.GET.get("metric", "")
    if given in METRICS:
        return given
    sort = request.GET.get("sort", "")
    return sort if sort in METRICS else "state"
