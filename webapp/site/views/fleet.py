"""Pages of the fleet: running jobs, worst first; ended jobs; groups of jobs."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from webapp.fleet import demo
from webapp.fleet.badges import HEALTH_GROUPS, JOB_BADGES
from webapp.fleet.choices import UNWATCHED_STATUS
from webapp.fleet.columns import headings
from webapp.fleet.filters import JobFilters
from webapp.fleet.groups import CLUSTER, FAMILY, MOST_SHOWN, groups
from webapp.fleet.job_lookup import as_of
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.models.job import HEAVY
from webapp.fleet.sorting import WORST_FIRST
from webapp.fleet.totals import totals
from webapp.lib.exports import export_response
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, filter_form, searched
from webapp.lib.timeranges import TimeRange, last_day
from webapp.site.demo_strip import stops
from webapp.site.views.job_rows import job_rows

PAGE_SIZE = 50
ENDED = "ended"
FILTERS_OF_ENDED = {"q", "status", "state", "health"}
"""With one of these filters, ended jobs are listed too."""
LABELS_OFFERED = 12
EXPORT_COLUMNS = (
    "cluster",
    "job_id",
    "name",
    "health",
    "health_state",
    "judged_at",
    "status",
    "state",
    "start_time",
    "end_time",
    "flink_version",
    "parallelism",
    "restarts",
    "last_completed_id",
    "last_completed_at",
    "last_completed_ms",
    "recent_total",
    "recent_failed",
    "end_to_end_p95_ms",
    "dominant_phase",
    "dominant_phase_share",
    "state_bytes",
    "checkpointed_bytes",
    "pressured_share",
    "orphan_bytes",
    "burn",
    "burn_over_min",
    "last_seen_at",
    "as_of",
)


def fleet(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    time_range = last_day(request, now)
    filters = JobFilters.from_page(request.GET, JobCurrent.objects.with_status(now))
    demo.note_visit()
    clusters = list(Cluster.objects.only("name", "kind", "labels"))
    counts = totals(filters.values.get("cluster", ""), now)
    shows_ended = _shows_ended(filters, counts)
    is_overview = filters.sorting[0] is WORST_FIRST and not filters.is_narrowed
    label_names = sorted({name for cluster in clusters for name in cluster.labels})
    by = request.GET.get("group", "")
    context: dict[str, Any] = {
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
        "filters": filters,
        "filter_form": filter_form(request, filters, *_controls(clusters, label_names)),
        "stops": stops(clusters, now) if is_overview else [],
        "health": filters.values.get("health"),
        "shows_ended": shows_ended,
        "is_worst_first": filters.sorting[0] is WORST_FIRST,
        "clusters": clusters,
        "health_groups": [group for slug, group in HEALTH_GROUPS.items() if slug != ENDED],
        "totals": counts,
        "living": (living := counts["total"] - counts[ENDED]),
        "listed": counts[ENDED] if shows_ended else living,
    }
    jobs = _matching_jobs(filters, counts)
    if by in (CLUSTER, FAMILY, *label_names):
        job_groups = groups(jobs, by, clusters)
        context |= {"by": by, "groups": job_groups[:MOST_SHOWN], "all_groups": len(job_groups)}
    else:
        recorded = {cluster.name for cluster in clusters if cluster.kind == "recording"}
        context |= _jobs(request, filters, jobs, time_range, recorded)
    return render(request, "fleet/fleet.html", context)


def _shows_ended(filters: JobFilters, counts: dict[str, int]) -> bool:
    return filters.values.get("health") == ENDED or (
        not filters.is_narrowed and counts["total"] == counts[ENDED]
    )


def _matching_jobs(filters: JobFilters, counts: dict[str, int]) -> Any:
    jobs = filters.qs
    if _shows_ended(filters, counts) or FILTERS_OF_ENDED & filters.values.keys():
        return jobs
    return jobs.exclude(HEALTH_GROUPS[ENDED].condition)


def _jobs(
    request: HttpRequest,
    filters: JobFilters,
    jobs: Any,
    time_range: TimeRange,
    recorded: set[str],
) -> dict[str, Any]:
    now, matching = timezone.now(), None
    if filters.is_narrowed:
        jobs, matching = searched(jobs)
    listed = page(jobs.defer(*HEAVY), filters.keys, request.GET.get("cursor", ""), PAGE_SIZE)
    sort, descending = filters.sorting
    return {
        "page": listed,
        "matching": matching,
        "headings": headings(sort.name, descending),
        "rows": [
            (
                job,
                *shown,
                job.is_over or job.status == UNWATCHED_STATUS or job.cluster in recorded,
                as_of(job, now),
            )
            for job, *shown in job_rows(listed.rows, time_range)
        ],
    }


def _controls(clusters: list[Cluster], label_names: list[str]) -> Iterator[Control]:
    names = [(cluster.name, cluster.name) for cluster in clusters]
    yield Control("cluster", "Cluster", [("", "All clusters"), *names])
    statuses = [(status, status) for status in JOB_BADGES]
    yield Control("status", "Status", [("", "Any status"), *statuses])
    healths = [
        (slug, f"{group.badge.shape} {group.title}") for slug, group in HEALTH_GROUPS.items()
    ]
    yield Control("health", "Health", [("", "Any health"), *healths])
    yield Control("q", "Name or job id", id="filter-search")
    if label_names:
        yield Control("label", "Label, as team=payments")
    labels = [
        (name, name) for name in label_names[:LABELS_OFFERED] if name not in (CLUSTER, FAMILY)
    ]
    groupings = [
        ("", gettext("Not grouped")),
        (CLUSTER, gettext("By cluster")),
        (FAMILY, gettext("By family of names")),
    ]
    yield Control("group", "Group", [*groupings, *labels])


def export(request: HttpRequest) -> HttpResponseBase:
    """All matching jobs in the page's order, streamed."""
    now = timezone.now()
    filters = JobFilters.from_page(request.GET, JobCurrent.objects.with_status(now))
    filters.check()
    jobs = (
        _matching_jobs(filters, totals(filters.values.get("cluster", ""), now))
        .annotate(sort_key=filters.sorting[0].key)
        .order_by(*(key.order_by for key in filters.keys))
    )
    return export_response(
        "weir-fleet", EXPORT_COLUMNS, jobs.values(*EXPORT_COLUMNS).iterator(chunk_size=1_000)
    )
