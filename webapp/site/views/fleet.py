"""The fleet: all jobs, worst first."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from webapp.findings.reasons import reasons
from webapp.fleet import demo
from webapp.fleet.badges import HEALTH_GROUPS, STATUS_GROUPS, job_badge
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS
from webapp.fleet.columns import headings
from webapp.fleet.filters import FleetFilters
from webapp.fleet.job_lookup import known_to
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.models.job import HEAVY
from webapp.fleet.sorting import WORST_FIRST
from webapp.fleet.totals import totals
from webapp.lib.exports import export_response
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, filter_form, searched
from webapp.site.demo_strip import WENT_COOKIE, stops

PAGE_SIZE = 50
ENDED_AS_WANTED = ("FINISHED", "CANCELED")
"""Below the others they are folded, unless there is nothing else or somebody asked for them."""
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
    "last_seen_at",
    "as_of",
)


def fleet(request: HttpRequest) -> HttpResponse:
    """All jobs that the address asks for, a page of them."""
    now = timezone.now()
    filters = FleetFilters.from_page(request.GET, JobCurrent.objects.with_status(now))
    jobs, matching = searched(filters.qs) if filters.is_narrowed else (filters.qs, None)
    shown = page(jobs.defer(*HEAVY), filters.keys, request.GET.get("cursor", ""), PAGE_SIZE)
    demo.look()
    clusters = list(Cluster.objects.only("name", "kind", "labels"))
    recorded = {cluster.name for cluster in clusters if cluster.kind == "recording"}
    why = reasons(shown.rows)
    rows = [
        (
            job,
            job_badge(job.status),
            job.health_badge,
            why.get((job.cluster, job.job_id)),
            _counts_from(job, recorded, now),
        )
        for job in shown.rows
    ]
    is_overview = filters.sorting[0] is WORST_FIRST and not filters.is_narrowed
    folded = [row for row in rows if row[0].state in ENDED_AS_WANTED] if is_overview else []
    context: dict[str, Any] = {
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            Control(
                "cluster",
                "Cluster",
                [("", "All clusters"), *((cluster.name, cluster.name) for cluster in clusters)],
            ),
            Control(
                "status",
                "Status",
                [
                    ("", "Any status"),
                    *((group.slug, group.title) for group in STATUS_GROUPS.values()),
                ],
            ),
            Control("health", "Health", [("", "Any health"), *_health_options()]),
            Control("q", "Name or job id", id="filter-search"),
            *(
                [Control("label", "Label, as team=payments")]
                if any(cluster.labels for cluster in clusters)
                else []
            ),
        ),
        "page": shown,
        "rows": rows,
        "shown": [row for row in rows if row not in folded] if len(folded) < len(rows) else rows,
        "folded": folded if len(folded) < len(rows) else [],
        "stops": stops(clusters, now, request.COOKIES.get(WENT_COOKIE, "")) if is_overview else [],
        "headings": headings(*filters.sorting),
        "health": filters.values.get("health"),
        "is_worst_first": filters.sorting[0] is WORST_FIRST,
        "clusters": clusters,
        "labels": {cluster.name: cluster.labels for cluster in clusters},
        "health_groups": HEALTH_GROUPS.values(),
        "totals": totals(filters.values.get("cluster", ""), now),
        "matching": matching,
    }
    return render(request, "fleet/fleet.html", context)


def _health_options() -> Iterator[tuple[str, str]]:
    return ((slug, f"{group.badge.shape} {group.title}") for slug, group in HEALTH_GROUPS.items())


def _counts_from(job: JobCurrent, recorded: set[str], now: datetime) -> datetime | None:
    """From when the ages of a job count; None where they would say nothing: it is past, or
    unknown.
    """
    is_past = job.is_over or job.cluster in recorded
    return (
        None if is_past or job.status in (UNKNOWN_STATUS, UNWATCHED_STATUS) else known_to(job, now)
    )


def export(request: HttpRequest, form: str) -> HttpResponseBase:
    """All matching jobs in the page's order, streamed."""
    filters = FleetFilters.from_page(request.GET, JobCurrent.objects.with_status(timezone.now()))
    jobs = (
        filters.checked()
        .annotate(sort_key=filters.sorting[0].key)
        .order_by(*(key.order_by for key in filters.keys))
    )
    return export_response(
        form, "weir-fleet", EXPORT_COLUMNS, jobs.values(*EXPORT_COLUMNS).iterator(chunk_size=1_000)
    )
