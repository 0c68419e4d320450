from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET

from webapp.charts.answers import answer, empty_answer
from webapp.charts.growth import MOST_NAMED, by_day
from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.list_controls import clusters_control
from webapp.growth.filters import GrowthFilters
from webapp.growth.models import JobGrowth
from webapp.growth.sorting import SORTS
from webapp.growth.trends import LEAST_DAYS, LEAST_SHARE, WINDOWS, filled
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, filter_form, searched
from webapp.lib.translations import gettext_lazy as _

EMPTY = {
    "title": _("No day has been aggregated yet"),
    "text": _("Days are aggregated every 15 minutes."),
}


def needed_days(window: int) -> int:
    return max(LEAST_DAYS, round(LEAST_SHARE * window))


def until_text(days: float | None) -> str:
    if days is None:
        return gettext("not at this slope")
    if days == 0:
        return gettext("already reached")
    if days < 1:
        return gettext("in less than a day")
    return ngettext("in %(days)s day", "in %(days)s days", round(days)) % {"days": f"{days:,.0f}"}


def state_by_day(jobs: Sequence[JobGrowth], window: int, now: datetime) -> list[dict[int, float]]:
    rollups = CheckpointRollup.objects.filter(
        cluster__in={job.cluster for job in jobs},
        job_id__in=[job_id for job in jobs for job_id in job.attempts],
        period="day",
        period_start__gt=now - timedelta(days=window),
        state_bytes_last__isnull=False,
    )
    by_id: dict[tuple[str, str], dict[int, float]] = {}
    rows: Any = rollups.values_list("cluster", "job_id", "period_start", "state_bytes_last")
    for cluster, job_id, start, size in rows:
        by_id.setdefault((cluster, job_id), {})[start.astimezone(UTC).toordinal()] = size
    today = now.astimezone(UTC).toordinal()
    days = []
    for job in jobs:
        sizes: dict[int, float] = {}
        for job_id in reversed(job.attempts):
            sizes |= by_id.get((job.cluster, job_id), {})
        days.append(filled(sizes, 0 if job.ended else today))
    return days


PAGE_SIZE = 50


@require_GET
def growth(request: HttpRequest) -> HttpResponse:
    filters = GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    context: dict[str, Any] = {
        "windows": WINDOWS,
        "window": filters.window,
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
        "Ended or not",
        [("", "Ended or not"), ("no", "not ended"), ("yes", "ended")],
    )
    controls = (
        clusters_control(),
        ended,
        Control("q", "Name or job id", id="filter-search"),
        Control("label", "Label, as team=payments"),
    )
    return {
        "page": shown,
        "rows": [(job, until_text(job.days_to_timeout)) for job in shown.rows],
        "sorts": SORTS,
        "sorted_by": filters.sorting.name,
        "filter_form": filter_form(request, filters, *controls),
        "matching": matching,
    }


@require_GET
def chart(request: HttpRequest) -> HttpResponse:
    now, filters = timezone.now(), GrowthFilters.from_page(request.GET, JobGrowth.objects.all())
    window, newest = filters.window, now.astimezone(UTC).toordinal()
    jobs = list(_charted_jobs(filters)[:MOST_NAMED])
    lines = [
        (name, days)
        for name, days in zip(_titles(jobs), state_by_day(jobs, window, now), strict=True)
        if any(newest - window < day <= newest for day in days)
    ]
    if not lines:
        return JsonResponse(empty_answer(**EMPTY))
    note = gettext(
        "Full state of the newest checkpoint of each day; a day without one has that of the day "
        "before."
    )
    return JsonResponse(answer(by_day(lines, window, newest), note))


def _titles(jobs: list[JobGrowth]) -> list[str]:
    names = [job.name or job.job_id for job in jobs]
    return [
        f"{name} · {job.cluster}" if names.count(name) > 1 else name
        for name, job in zip(names, jobs, strict=True)
    ]


def _charted_jobs(filters: GrowthFilters) -> Any:
    sort = SORTS["state"] if filters.sorting.name == "growth" else filters.sorting
    return (
        filters.checked().annotate(sort_key=sort.key).order_by(*(key.order_by for key in sort.keys))
    )
