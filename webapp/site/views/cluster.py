"""The page of one cluster: its facts, jobs, alerts, charts and events."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from django.db.models import Max, Min, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ingest.discovery.pods import Pod, pods_of
from webapp.alerting.badges import state_badge
from webapp.alerting.models import Alert
from webapp.charts.answers import answer_or_nothing
from webapp.charts.over_time import Events, Line, bars, lines, running
from webapp.charts.theme import ACCENT, UNKNOWN, WARN, Figure
from webapp.fleet.badges import HEALTH_GROUPS, VISIBILITY_BADGES
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobCurrent, JobStart, LogEvent, SourceReading
from webapp.fleet.models.job import HEAVY
from webapp.fleet.sorting import worst_first
from webapp.fleet.totals import totals
from webapp.hosts.charts import events_of
from webapp.hosts.lives import ended_words, lost
from webapp.hosts.models import HostLoad, TaskManagerLife
from webapp.lib.filters import words
from webapp.lib.instants import instant_of
from webapp.lib.timeranges import TimeRange, around, from_request, last_day
from webapp.site.views.job_rows import job_rows

JOBS_SHOWN, ALERTS_SHOWN, EVENTS_SHOWN = 12, 8, 20
MOST_LIVES = MOST_STARTS = 5_000
MOST_LINES = 2_000
"""Log events of the cluster that are searched for the JobManager's; the newest."""
SILENT_AFTER = timedelta(minutes=10)
"""After this time unseen, a TaskManager has ended: living ones are recorded every 5 minutes."""
JOBMANAGER_KINDS = {
    "cluster_shut_down",
    "fatal_error",
    "ha_recovery",
    "jobmanager_fatal",
    "leadership_granted",
    "leadership_lost",
    "operator_event",
    "program_failed",
    "resource_manager_lost",
    "signal_received",
    "submission_ignored",
    "zookeeper_lost",
}
POD_TONES = {"pod_ended": "crit", "pod_waiting": "warn", "pod_removed": "done"}


@dataclass(frozen=True)
class ClusterEvent:
    """``url``: the page of the TaskManager or job."""

    at: datetime
    tone: str
    title: str
    detail: str = ""
    url: str = ""

    @property
    def shape(self) -> str:
        return {"crit": "✕", "warn": "◆"}.get(self.tone, "■")


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    now = timezone.now()
    clusters = Cluster.objects.defer("cursor")
    if not clusters.filter(name=name).exists() and JobCurrent.objects.filter(cluster=name).exists():
        return redirect(f"{reverse('fleet')}?cluster={quote(name)}")
    cluster = get_object_or_404(clusters, name=name)
    time_range = _page_range(request, cluster, now)
    start, end = time_range.from_time, time_range.to_time
    alerts = Alert.objects.filter(cluster=name).open().order_by("-severity_rank", "-starts_at")
    shown_alerts = list(alerts.with_names()[: ALERTS_SHOWN + 1])
    lives = list(_lives(name, start, end)[:MOST_LIVES])
    living = [life for life in lives if _ended_at(life, cluster) is None]
    slots = [life.slots for life in living if life.slots is not None]
    slots_used = HostLoad.objects.filter(cluster=name).aggregate(slots=Sum("slots"))["slots"]
    all_slots = sum(slots) if living and len(slots) == len(living) else None
    counts = totals(name, now)
    context: dict[str, Any] = {
        "cluster": cluster,
        "badge": VISIBILITY_BADGES[cluster.visibility_at(now)],
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
        "totals": counts,
        "current": counts["total"] - counts["ended"],
        "health_groups": [group for slug, group in HEALTH_GROUPS.items() if slug != "ended"],
        "jobs": job_rows(_worst_jobs(name, now), time_range),
        "pods": [] if cluster.left_at else [_with_instants(pod) for pod in pods_of(cluster.pods)],
        "pods_listed_at": SourceReading.objects.filter(name=cluster.found_by)
        .values_list("last_success_at", flat=True)
        .first(),
        "alerts": [(row, state_badge(row)) for row in shown_alerts[:ALERTS_SHOWN]],
        "more_alerts": len(shown_alerts) > ALERTS_SHOWN,
        "taskmanagers": len(living) if lives else None,
        "taskmanagers_at": max(
            (life.last_seen_at for life in living if life.last_seen_at), default=None
        ),
        "slots": all_slots,
        "slots_used": slots_used if living else None,
        "slots_free": all_slots - slots_used
        if all_slots is not None and slots_used is not None and slots_used <= all_slots
        else None,
        "events": sorted(_events(name, lives, start, end), key=lambda row: row.at, reverse=True)[
            :EVENTS_SHOWN
        ],
    }
    return render(request, "fleet/cluster.html", context)


@require_GET
def chart(request: HttpRequest, name: str, key: str) -> HttpResponse:
    """``key``: taskmanagers or failures."""
    now = timezone.now()
    cluster = get_object_or_404(Cluster.objects.defer("cursor", "pods"), name=name)
    time_range = _page_range(request, cluster, now)
    start, end = time_range.from_time, min(time_range.to_time, now)
    if end <= start:
        figure = None
    elif key == "taskmanagers":
        figure = _taskmanagers(cluster, start, end)
    else:
        figure = _failures(name, start, end)
    return JsonResponse(answer_or_nothing(figure))


def _with_instants(pod: Pod) -> tuple[Pod, dict[str, datetime | None]]:
    names = ("started", "waits_since", "ended", "removed")
    instants = {name: getattr(pod, f"{name}_ms") for name in names}
    return pod, {name: ms and instant_of(ms) for name, ms in instants.items()}


def _page_range(request: HttpRequest, cluster: Cluster, now: datetime) -> TimeRange:
    if cluster.kind != ClusterKind.RECORDING:
        return last_day(request, now)
    seen = JobCurrent.objects.filter(cluster=cluster.name).aggregate(
        first=Min("first_seen_at"), last=Max("last_seen_at")
    )
    recorded = around(seen["first"] or now, seen["last"] or now, chosen=False)
    return from_request(request, now, recorded)


def _worst_jobs(cluster: str, now: datetime) -> list[JobCurrent]:
    jobs = JobCurrent.objects.newest_attempts().with_status(now).filter(cluster=cluster)
    return list(
        jobs.exclude(HEALTH_GROUPS["ended"].condition)
        .order_by(worst_first(), "id")
        .defer(*HEAVY)[:JOBS_SHOWN]
    )


def _lives(cluster: str, start: datetime, end: datetime) -> QuerySet[TaskManagerLife]:
    return TaskManagerLife.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=start), Q(born_at=None) | Q(born_at__lte=end)
    ).filter(cluster=cluster)


def _ended_at(life: TaskManagerLife, cluster: Cluster) -> datetime | None:
    if life.ended_at is not None or life.last_seen_at is None or cluster.last_success_at is None:
        return life.ended_at
    presumed_end = life.last_seen_at + SILENT_AFTER
    return presumed_end if presumed_end < cluster.last_success_at else None


def _taskmanagers(cluster: Cluster, start: datetime, end: datetime) -> Figure | None:
    lives = list(_lives(cluster.name, start, end)[:MOST_LIVES])
    if not lives:
        return None
    spans = [(life.born_at, _ended_at(life, cluster), life.slots) for life in lives]
    chart_lines = [
        Line(
            "TaskManagers",
            running([(born, ended, 1) for born, ended, _slots in spans], start, end),
            ACCENT,
            steps=True,
        )
    ]
    if all(slots is not None for *_, slots in spans):
        weighted = [(born, ended, slots or 0) for born, ended, slots in spans]
        chart_lines.append(Line(gettext("slots"), running(weighted, start, end), WARN, steps=True))
    return lines(chart_lines, start, end, rangemode="tozero", tickformat=",d")


def _failures(cluster: str, start: datetime, end: datetime) -> Figure:
    restarts = Events(
        gettext("restarts"), [row.at for row in _restarts(cluster, start, end)], UNKNOWN
    )
    kinds = [*events_of({"cluster": cluster}, start, end), restarts]
    return bars(kinds, start, end)


def _restarts(cluster: str, start: datetime, end: datetime) -> QuerySet[JobStart]:
    starts = JobStart.objects.filter(cluster=cluster, at__gte=start, at__lte=end)
    return starts.exclude(kind="start").order_by("-at").defer("detail")[:MOST_STARTS]


def _events(
    cluster: str, lives: list[TaskManagerLife], start: datetime, end: datetime
) -> Iterator[ClusterEvent]:
    lost_ids = set(lost(start, end).filter(cluster=cluster).values_list("pk", flat=True))
    for life in lives:
        url = reverse("taskmanager", args=(cluster, life.taskmanager_id))
        values = {"taskmanager": life.taskmanager_id[:80]}
        if life.born_at and life.born_at >= start:
            title = gettext("TaskManager %(taskmanager)s registered") % values
            yield ClusterEvent(life.born_at, "done", title, life.host, url)
        if life.ended_at and life.ended_at <= end:
            was_lost = life.pk in lost_ids
            title = (
                gettext("TaskManager %(taskmanager)s lost")
                if was_lost
                else gettext("TaskManager %(taskmanager)s left")
            )
            tone = "crit" if was_lost else "done"
            yield ClusterEvent(life.ended_at, tone, title % values, ended_words(life), url)
    logged = LogEvent.objects.filter(cluster=cluster, ts__gte=start, ts__lte=end)
    newest = logged.order_by("-ts", "-id").values_list("ts", "kind", "message")[:MOST_LINES]
    for at, kind, text in newest:
        if kind in JOBMANAGER_KINDS:
            title = gettext("JobManager: %(what)s") % {"what": words(kind)}
            yield ClusterEvent(at, "done", title, text or "")
        elif pod_tone := POD_TONES.get(kind):
            yield ClusterEvent(at, pod_tone, words(kind).capitalize(), text or "")
    restarts = list(_restarts(cluster, start, end)[:EVENTS_SHOWN])
    names = dict(
        JobCurrent.objects.filter(
            cluster=cluster, job_id__in=[row.job_id for row in restarts]
        ).values_list("job_id", "name")
    )
    for row in restarts:
        yield ClusterEvent(
            row.at,
            "warn",
            gettext("%(job)s restarted") % {"job": names.get(row.job_id) or row.job_id},
            row.failure or "",
            reverse("job", args=(cluster, row.job_id)),
        )
