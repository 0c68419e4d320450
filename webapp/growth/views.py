"""The growth page: jobs over 7, 30 or 90 days."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET

from webapp.charts.answers import answer
from webapp.charts.growth import MOST_NAMED, by_day
from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.list_controls import clusters_control
from webapp.growth.filters import GrowthFilters
from webapp.growth.models import JobGrowth, StoredDay
from webapp.growth.sorting import SORTS, GrowthSort
from webapp.growth.trends import LEAST_DAYS, LEAST_SHARE, WINDOWS, Until, filled, total
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, filter_form, searched
from webapp.lib.quantities import UNKNOWN
from webapp.lib.translations import gettext_lazy as _

EMPTY = {
    "title": _("No day has been aggregated yet"),
    "text": _(
        "Days are aggregated every 15 minutes. Files count once their root is registered on "
        "the storage page and audited."
    ),
}


def needed_days(window: int) -> int:
    return max(LEAST_DAYS, round(LEAST_SHARE * window))


def until_text(until: Until) -> str:
    """``in 40 days (30 to 55)``; empty parts are unknown, or not within ten years."""
    if until.days == 0:
        return gettext("already reached")
    if until.days is None:
        return (
            gettext("in %(soonest)s at the soonest") % {"soonest": _days(until.soonest)}
            if until.soonest is not None
            else gettext("not at this slope")
        )
    latest = gettext("later than ten years") if until.latest is None else f"{until.latest:,.0f}"
    return gettext("in %(days)s (%(soonest)s to %(latest)s)") % {
        "days": _days(until.days),
        "soonest": f"{until.soonest or 0:,.0f}",
        "latest": latest,
    }


def _days(days: float | None) -> str:
    return (
        UNKNOWN
        if days is None
        else gettext("less than a day")
        if days < 1
        else ngettext("%(days)s day", "%(days)s days", round(days)) % {"days": f"{days:,.0f}"}
    )


COLUMN = {"state": "state_bytes_last", "uploaded": "checkpointed_bytes_sum"}


def series_of(
    jobs: Sequence[JobGrowth], kind: str, window: int, now: datetime
) -> list[dict[int, float]]:
    """Days of each job under all its ids; ``kind``: state, uploaded or unreferenced. One query."""
    since = now.astimezone(UTC) - timedelta(days=window)
    ids = [job_id for job in jobs for job_id in job.attempts]
    clusters = {job.cluster for job in jobs}
    if kind == "unreferenced":
        audited = StoredDay.objects.filter(
            cluster__in=clusters, job_id__in=ids, day__gt=since.date()
        )
        rows = list(audited.values_list("cluster", "job_id", "day", "unreferenced_bytes"))
    else:
        rolled = CheckpointRollup.objects.filter(
            cluster__in=clusters, job_id__in=ids, period="day", period_start__gt=since
        )
        sums = rolled.values_list("cluster", "job_id", "period_start", COLUMN[kind])
        rows = [
            (cluster, job_id, start.astimezone(UTC).date(), value)
            for cluster, job_id, start, value in sums
        ]
    of_id: dict[tuple[str, str], dict[int, float]] = {}
    for cluster, job_id, day, value in rows:
        if value is not None:
            of_id.setdefault((cluster, job_id), {})[day.toordinal()] = value
    return [
        _join([of_id.get((job.cluster, job_id), {}) for job_id in job.attempts], kind, job, now)
        for job in jobs
    ]


def _join(
    attempts: Sequence[dict[int, float]], kind: str, job: JobGrowth, now: datetime
) -> dict[int, float]:
    if kind != "state":
        return total(attempts)
    joined: dict[int, float] = {}
    for attempt in reversed(attempts):
        joined |= attempt
    return filled(joined, 0 if job.ended else now.astimezone(UTC).toordinal())


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
        "rows": [(job, until_text(_until(job))) for job in shown.rows],
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
