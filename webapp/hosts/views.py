from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from spark_jobs.fold.taskmanager_lives import reason_of
from webapp.findings.badges import severity_badge
from webapp.findings.choices import FindingState
from webapp.fleet.attempts import Job
from webapp.fleet.badges import JOB_BADGES
from webapp.fleet.filters import ClusterLabels
from webapp.fleet.list_controls import clusters_control
from webapp.fleet.models import Cluster, JobCurrent
from webapp.hosts import lookup
from webapp.hosts.filters import HostsFilters
from webapp.hosts.lives import ended_words, jobs_that_lost, lost
from webapp.hosts.lookup import job_name, known_jobs
from webapp.hosts.models import HostEvent, TaskManagerLife
from webapp.hosts.taskmanagers import taskmanagers_of
from webapp.lib import scopes
from webapp.lib.badges import SHAPES, UNKNOWN
from webapp.lib.instants import epoch_ms
from webapp.lib.list_pages import Control, filter_form
from webapp.lib.messages.rendering import localised
from webapp.lib.timeranges import TimeRange, last_day

MOST_MOMENTS = 100


@dataclass(frozen=True)
class Moment:
    """An event of a time line. ``jobs``: (cluster, id, name). ``trigger_ms`` of the first job."""

    at: datetime
    tone: str
    title: str
    detail: str = ""
    jobs: tuple[tuple[str, str, str], ...] = ()
    taskmanager_id: str = ""
    checkpoint_id: int | None = None
    trigger_ms: int | None = None


def timeline(
    events: QuerySet[HostEvent], losses: QuerySet[TaskManagerLife], time_range: TimeRange
) -> dict[str, Any]:
    """Context of the time line of a host or a TaskManager, newest first. At most four queries."""
    start, end = time_range.from_time, time_range.to_time
    rows = list(
        events.filter(at__gte=start, at__lte=end).order_by("-at", "-id")[: MOST_MOMENTS + 1]
    )
    with_jobs = list(jobs_that_lost(list(losses.order_by("-ended_at", "-id")[: MOST_MOMENTS + 1])))
    known = known_jobs({row.key for row in rows} | {job for _, jobs in with_jobs for job in jobs})
    moments = [*_moments(rows, known), *_losses(with_jobs, known)]
    # Before the oldest event that was read, events are missing.
    since = rows[MOST_MOMENTS].at if len(rows) > MOST_MOMENTS else start
    in_range = sorted(
        (moment for moment in moments if since <= moment.at <= end),
        key=lambda moment: (moment.at, moment.title),
        reverse=True,
    )
    return {
        "moments": [(moment, SHAPES[moment.tone]) for moment in in_range[:MOST_MOMENTS]],
        "left_out": len(rows) > MOST_MOMENTS or len(in_range) > MOST_MOMENTS,
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
    }


def _moments(rows: Sequence[HostEvent], known: Mapping[Job, JobCurrent]) -> Iterator[Moment]:
    for event in rows:
        trigger_ms = epoch_ms(event.trigger_time) if event.trigger_time else None
        title, detail = _title_and_detail(event)
        yield Moment(
            event.at,
            "warn" if event.kind == "expired" else "crit",
            title,
            detail,
            ((*event.key, job_name(known, event)),),
            event.taskmanager_id or "",
            event.checkpoint_id,
            trigger_ms,
        )


def _losses(
    losses: Iterable[tuple[TaskManagerLife, list[Job]]],
    known: Mapping[Job, JobCurrent],
) -> Iterator[Moment]:
    for life, jobs in losses:
        if life.ended_at is not None:
            yield Moment(
                life.ended_at,
                "crit",
                gettext("TaskManager %(subject)s lost") % {"subject": life.taskmanager_id},
                localised(reason_of(vars(life))),
                tuple((*job, (known[job].name if job in known else "") or job[1]) for job in jobs),
                life.taskmanager_id,
            )


def _title_and_detail(row: HostEvent) -> tuple[str, str]:
    task = (
        f"{row.vertex_name or gettext('a task')}{'' if row.subtask is None else f'/{row.subtask}'}"
    )
    detail = row.detail or ""
    if row.kind == "decline":
        if row.checkpoint_id is None:
            return gettext("A checkpoint was declined by %(task)s") % {"task": task}, detail
        return gettext("Checkpoint %(checkpoint_id)s declined by %(task)s") % {
            "checkpoint_id": row.checkpoint_id,
            "task": task,
        }, detail
    if row.kind == "expired":
        return (
            gettext("Checkpoint %(checkpoint_id)s expired") % {"checkpoint_id": row.checkpoint_id}
            if row.checkpoint_id is not None
            else gettext("A checkpoint expired"),
            gettext("subtasks here had not acknowledged: %(vertex_name)s")
            % {"vertex_name": row.vertex_name}
            if row.vertex_name
            else "",
        )
    if row.kind == "failure":
        return gettext("Task failed: %(subject)s") % {"subject": row.subject}, detail
    return f"{row.kind.replace('_', ' ').capitalize()}: {row.subject}", detail


def clusters_of_page(request: HttpRequest, host: str) -> tuple[list[str], list[str]]:
    """Clusters with a host of this name, and those to show: the requested cluster or all. A
    requested cluster is shown in any case, since pages link to hosts that have no rows.
    """
    known = lookup.clusters_of(host)
    chosen = request.GET.get("cluster", "")
    if chosen and scopes.current().holds(chosen):
        return known, [chosen]
    if not known:
        raise Http404(gettext("No job was seen on a host of this name."))
    return known, known


PAGE_SIZE = 50
LIVES_SHOWN = 20


@require_GET
def hosts(request: HttpRequest) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    filters = HostsFilters.from_page(request.GET)
    host_list, matching = host_rows(filters, time_range.from_time, time_range.to_time)
    context: dict[str, Any] = {
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            clusters_control(),
            Control("name", "Part of the name", id="filter-search"),
        ),
        "page": Paginator(matching, PAGE_SIZE).get_page(request.GET.get("page")),
        "hosts": host_list,
    }
    return render(request, "hosts/hosts.html", context)


@require_GET
def page(request: HttpRequest, host: str) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    start, end = time_range.from_time, time_range.to_time
    known, clusters = clusters_of_page(request, host)
    events = HostEvent.objects.filter(host=host, cluster__in=clusters)
    jobs, running = lookup.jobs_of(host, clusters)
    findings = lookup.findings_of(host, clusters, start, end)
    losses = lost(start, end).filter(host=host, cluster__in=clusters)
    context: dict[str, Any] = {
        "name": host,
        "nodes": lookup.nodes_of(clusters, (host,)),
        "is_known": bool(set(known) & set(clusters)),
        "clusters": clusters,
        "other_clusters": [name for name in known if name not in clusters],
        "counts": lookup.counts_of(host, clusters, start, end),
        "concentrations": lookup.concentrations(host, clusters, start, end),
        **timeline(events, losses, time_range),
        "jobs": [
            (job, JOB_BADGES.get(job.job.status, UNKNOWN) if job.job else UNKNOWN) for job in jobs
        ],
        "running": running,
        "subtasks": sum(job.row.subtasks for job in jobs if job.row.left_at is None),
        "findings": [(finding, severity_badge(finding.severity)) for finding in findings],
        "open_findings": sum(finding.state == FindingState.OPEN for finding in findings),
    }
    return render(request, "hosts/host.html", context)


@require_GET
def taskmanagers(request: HttpRequest, host: str) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    clusters = clusters_of_page(request, host)[1]
    context = {
        "taskmanagers": taskmanagers_of(host, clusters, time_range.from_time, time_range.to_time),
        "several": len(clusters) > 1,
        "time_range": time_range,
    }
    return render(request, "hosts/_taskmanagers.html", context)


@require_GET
def taskmanager(request: HttpRequest, cluster: str, taskmanager_id: str) -> HttpResponse:
    time_range = last_day(request, timezone.now())
    key = {"cluster": cluster, "taskmanager_id": taskmanager_id}
    lives = list(TaskManagerLife.objects.filter(**key).order_by("-life")[:LIVES_SHOWN])
    events = HostEvent.objects.filter(**key)
    if not lives and not events.exists():
        raise Http404(gettext("No TaskManager of this name was seen on this cluster."))
    host = lives[0].host if lives else events.values_list("host", flat=True)[0]
    losses = lost(time_range.from_time, time_range.to_time).filter(**key)
    context: dict[str, Any] = {
        "cluster": cluster,
        "taskmanager_id": taskmanager_id,
        "host": host,
        "nodes": lookup.nodes_of((cluster,), (taskmanager_id, host)),
        "lives": [(life, ended_words(life)) for life in lives],
        "living": bool(lives) and lives[0].ended_at is None,
        **timeline(events.filter(host=host), losses, time_range),
    }
    return render(request, "hosts/taskmanager.html", context)


LABEL_OF_CLUSTER = ClusterLabels("name")


def host_rows(
    filters: HostsFilters, start: datetime, end: datetime
) -> tuple[lookup.Hosts, list[lookup.HostRow]]:
    """All hosts, and those that match, worst first; both empty if a parameter is invalid."""
    if not filters.is_valid():
        return lookup.Hosts((), start), []
    values = filters.values
    hosts = lookup.hosts(values.get("cluster"), start, end)
    rows = hosts.rows
    if part := values.get("name", "").casefold():
        rows = [row for row in rows if part in row.host.casefold()]
    if values.get("label"):
        labelled = set(
            LABEL_OF_CLUSTER.filter(Cluster.objects.all(), values["label"]).values_list(
                "name", flat=True
            )
        )
        rows = [row for row in rows if row.cluster in labelled]
    return hosts, sorted(rows, key=lookup.worst_first)
