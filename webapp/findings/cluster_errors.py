"""Errors of a JobManager whose log lines name no job, since it runs none or several. The rules for
jobs judge them, and the findings belong to the cluster.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.plain import finding_to_plain
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.samples import LogEvent as Event
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.findings.overrides import limits_of
from webapp.findings.watched import keep
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, LogEvent
from webapp.lib.instants import epoch_ms

RULES = ("jobmanager.error", "jobmanager.crash_loop")
LOOK_BACK = timedelta(minutes=30)
MOST_EVENTS = 500
_EVENT_KINDS = {kind for rule in RULES for kind in registry.all_rules()[rule].reads}
_WITHOUT_JOB = Q(job_id=None, kind__in=_EVENT_KINDS)


def watch(now: datetime) -> None:
    """Judge live clusters with recent errors or open findings."""
    recent = LogEvent.objects.filter(_WITHOUT_JOB, ts__gte=now - LOOK_BACK, ts__lte=now)
    names = {
        *recent.order_by().values_list("cluster", flat=True).distinct(),
        *_open_findings().values_list("cluster", flat=True),
    }
    for name in Cluster.objects.collected().filter(name__in=names).values_list("name", flat=True):
        _judge(name, now)


def watch_recordings(loaded: Collection[str]) -> None:
    """Judge each recording at its end. ``loaded``: clusters with new log events."""
    recordings = Cluster.objects.filter(kind=ClusterKind.RECORDING, name__in=loaded)
    for name in recordings.values_list("name", flat=True):
        events = LogEvent.objects.filter(cluster=name)
        if events.filter(_WITHOUT_JOB).exists():
            _judge(name, events.latest("ts").ts)


def _open_findings() -> "QuerySet[Finding]":
    return Finding.objects.open().filter(rule__in=RULES, job_id="")


def _judge(cluster: str, at: datetime) -> None:
    rows = LogEvent.objects.filter(
        _WITHOUT_JOB | Q(kind="job_state"), cluster=cluster, ts__gt=at - LOOK_BACK, ts__lte=at
    ).order_by("-ts", "-id")[:MOST_EVENTS]
    events = tuple(
        Event(
            epoch_ms(row.ts),
            row.kind,
            reason=row.reason,
            message=row.message,
            detail=row.detail,
            fields=row.fields or {},
        )
        for row in reversed(rows)
    )
    at_ms = epoch_ms(at)
    window = JobWindow(cluster, "", at_ms, at_ms - 60_000, events=events)
    open_findings = {finding.rule: finding for finding in _open_findings().filter(cluster=cluster)}
    for finding in registry.diagnose(window, limits_of(cluster), only=RULES).findings:
        keep(open_findings.pop(finding.rule, None), cluster, finding_to_plain(finding), at)
    marks.close([finding.pk for finding in open_findings.values()], at)
