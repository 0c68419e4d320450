"""Hosts: all of them, the worst first; one with what happened there, what runs there and which
findings name it.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET

from webapp.findings.badges import severity_badge
from webapp.findings.choices import FindingState
from webapp.fleet.badges import JOB_BADGES
from webapp.fleet.list_controls import clusters_control
from webapp.hosts import lookup
from webapp.hosts.columns import headings
from webapp.hosts.concentration import MANY
from webapp.hosts.documents import host_rows
from webapp.hosts.filters import HostPageFilters, HostsFilters
from webapp.hosts.lives import ended_words, lost
from webapp.hosts.models import HostEvent, TaskManagerLife
from webapp.hosts.ranking import ANY
from webapp.hosts.scope import clusters_of_page
from webapp.hosts.taskmanagers import slowest_here, taskmanagers_of
from webapp.hosts.timeline import timeline
from webapp.lib.badges import UNKNOWN
from webapp.lib.list_pages import Control, filter_form
from webapp.lib.timeranges import last_day

PAGE_SIZE = 50
LIVES_SHOWN = 20
SHAPES = {"crit": "✕", "warn": "◆", "ok": "●", "done": "■"}
TROUBLE = {
    "": gettext_noop("All hosts"),
    ANY: gettext_noop("with any trouble"),
    "declines": gettext_noop("with declines"),
    "expired": gettext_noop("with expired checkpoints"),
    "failures": gettext_noop("with failed tasks"),
    "losses": gettext_noop("with lost TaskManagers"),
    "findings": gettext_noop("named by open findings"),
}


@require_GET
def hosts(request: HttpRequest) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    filters = HostsFilters.from_page(request.GET)
    host_list, matching = host_rows(filters, time_range.from_time, time_range.to_time)
    first = min(
        max(filters.values.get("after") or 0, 0), max(len(matching) - 1, 0) // PAGE_SIZE * PAGE_SIZE
    )
    context: dict[str, Any] = {
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            Control("trouble", "Trouble", list(TROUBLE.items())),
            clusters_control(),
            Control("name", "Part of the name", id="filter-search"),
        ),
        "headings": headings(*filters.sorting),
        "is_worst_first": filters.sorting == ("trouble", True),
        "rows": matching[first : first + PAGE_SIZE],
        "matching": len(matching),
        "first": first + 1,
        "last": min(first + PAGE_SIZE, len(matching)),
        "previous": max(first - PAGE_SIZE, 0) if first else None,
        "next": first + PAGE_SIZE if first + PAGE_SIZE < len(matching) else None,
        "found": host_list,
    }
    return render(request, "hosts/hosts.html", context)


@require_GET
def page(request: HttpRequest, host: str) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    start, end = time_range.from_time, time_range.to_time
    known, clusters = clusters_of_page(request, host)
    filters = HostPageFilters.from_page(
        {"kind": request.GET.get("kind", "")},
        HostEvent.objects.filter(host=host, cluster__in=clusters),
    )
    jobs, running = lookup.jobs_of(host, clusters)
    findings = lookup.findings_of(host, clusters, start, end)
    losses = lost(start, end).filter(host=host, cluster__in=clusters)
    story = timeline(filters.qs, losses, jobs, findings, start, end, filters.values.get("kind"))
    first, last = lookup.seen(host, clusters, jobs)
    context: dict[str, Any] = {
        "name": host,
        "is_known": bool(set(known) & set(clusters)),
        "clusters": clusters,
        "other_clusters": [name for name in known if name not in clusters],
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
        "counts": lookup.counts_of(host, clusters, start, end),
        "concentrations": lookup.concentrations(host, clusters, start, end),
        "moments": [(moment, SHAPES.get(moment.tone, "■")) for moment in story.moments],
        "left_out": story.left_out,
        "event_filters": filters,
        "kinds": [(kind, gettext(word)) for kind, word in MANY.items()],
        "kind": filters.values.get("kind", ""),
        "jobs": [
            (job, JOB_BADGES.get(job.job.status, UNKNOWN) if job.job else UNKNOWN) for job in jobs
        ],
        "running": running,
        "subtasks": sum(job.row.subtasks for job in jobs if job.row.left_at is None),
        "findings": [(finding, severity_badge(finding.severity)) for finding in findings],
        "open_findings": sum(finding.state == FindingState.OPEN for finding in findings),
        "first_seen": first,
        "last_seen": last,
    }
    return render(request, "hosts/host.html", context)


@require_GET
def taskmanagers(request: HttpRequest, host: str) -> HttpResponse:
    """The part of the page that takes longer, after the rest."""
    time_range = last_day(request, timezone.now())
    start, end = time_range.from_time, time_range.to_time
    _, clusters = clusters_of_page(request, host)
    jobs, _ = lookup.jobs_of(host, clusters)
    of_host = taskmanagers_of(host, clusters, start, end)
    context = {
        "name": host,
        "found": of_host,
        "is_sampled": any(row.budget for row in of_host.rows),
        "slowest": slowest_here(host, jobs, start, end),
    }
    return render(
        request,
        "hosts/_taskmanagers.html",
        context | {"several": len(clusters) > 1, "time_range": time_range},
    )


@require_GET
def taskmanager(request: HttpRequest, cluster: str, taskmanager_id: str) -> HttpResponse:
    """Its lives, and what happened on it; charts come from :mod:`webapp.hosts.charts`."""
    time_range = last_day(request, timezone.now())
    start, end = time_range.from_time, time_range.to_time
    of_it = {"cluster": cluster, "taskmanager_id": taskmanager_id}
    lives = list(TaskManagerLife.objects.filter(**of_it).order_by("-life")[:LIVES_SHOWN])
    events = HostEvent.objects.filter(**of_it)
    if not lives and not events.exists():
        raise Http404(gettext("No TaskManager of this name was seen on this cluster."))
    host = lives[0].host if lives else events.values_list("host", flat=True)[0]
    happened = events.filter(host=host, at__gte=start, at__lte=end).order_by("-at", "-id")
    losses = lost(start, end).filter(**of_it)
    story = timeline(happened, losses, (), (), start, end, None)
    context: dict[str, Any] = {
        "cluster": cluster,
        "taskmanager_id": taskmanager_id,
        "host": host,
        "lives": [(life, ended_words(life)) for life in lives],
        "living": bool(lives) and lives[0].ended_at is None,
        "moments": [(moment, SHAPES.get(moment.tone, "■")) for moment in story.moments],
        "left_out": story.left_out,
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
    }
    return render(request, "hosts/taskmanager.html", context)
