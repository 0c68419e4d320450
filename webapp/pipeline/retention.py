"""How long rows are kept. Rows of recordings stay until the recording is removed. Each kind of
expiring rows is a ``Rule`` here, which the page of stored data lists. For a new folder in Weir's
home: count it in ``stored_sizes``, name it in :mod:`webapp.config.file_modes`, and copy or exclude
it in ``operation.md``. Code that adds data must ask
:mod:`webapp.fleet.pipeline_status.disk_budget` for room.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from spark_jobs.serving import FAILED_OUTCOMES
from webapp.accounts.models import AuditEntry, SignInFailures
from webapp.alerting.choices import AlertState
from webapp.alerting.models import Alert, Silence
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.config.row_retention import audit, notable, routine, runs, sums
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery
from webapp.findings.choices import FindingState
from webapp.findings.folding import OCCURRENCES_KEPT
from webapp.findings.models import Finding, FindingOccurrence, JobJudgement
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobException, JobStart, LogEvent
from webapp.hosts import days, loads
from webapp.hosts.models import HostEvent, JobHost, TaskManagerLife
from webapp.incidents.choices import IncidentState
from webapp.incidents.models import Incident
from webapp.pressure.models import PressureWindow, VertexHour
from webapp.profiles.models import ThreadDump
from webapp.storage.auditing import audit_retention
from webapp.work.lease import Lease
from webapp.work.models import Heartbeat, Manifest, PipelineAlarm, PipelineRun, SkippedInput

SLOW_MS = 60_000
HOUR = timedelta(hours=1)

ROWS_PER_DELETE = 2_000
NAME = "retention"
"""The name of a heartbeat."""


@dataclass(frozen=True)
class Rule:
    """Rows of one table that match ``only`` are deleted when the instant in ``column`` is older
    than ``kept``. ``of_cluster``: the table has a column ``cluster``, and rows of recordings stay.
    """

    model: type[Model]
    column: str
    kept: Callable[[], timedelta]
    only: Q = field(default_factory=Q)
    of_cluster: bool = True

    def old(self, now: datetime) -> QuerySet[Any]:
        rows = self.model._default_manager.filter(
            self.only, **{f"{self.column}__lt": now - self.kept()}
        )
        recordings = Cluster.objects.filter(kind=ClusterKind.RECORDING).values("name")
        return rows.exclude(cluster__in=recordings) if self.of_cluster else rows


NOTABLE = Q(outcome__in=FAILED_OUTCOMES) | Q(is_savepoint=True) | Q(end_to_end_ms__gte=SLOW_MS)

_JOB = JobCurrent.objects.filter(cluster=OuterRef("cluster"), job_id=OuterRef("job_id"))

RULES = (
    Rule(CheckpointFact, "trigger_time", routine, ~NOTABLE),
    Rule(CheckpointFact, "trigger_time", notable),
    Rule(CheckpointRollup, "period_start", notable, Q(period="hour")),
    Rule(CheckpointRollup, "period_start", sums),
    Rule(CheckpointUpload, "as_of", notable),
    Rule(PressureWindow, "window_start", routine),
    Rule(VertexHour, "period_start", notable),
    Rule(ThreadDump, "wanted_at", routine),
    Rule(LogEvent, "ts", routine),
    Rule(JobException, "ts", notable),
    Rule(JobAnnotation, "at", notable),
    Rule(JobStart, "at", notable),
    Rule(HostEvent, "at", notable),
    Rule(TaskManagerLife, "as_of", notable),
    Rule(JobCurrent, "as_of", notable),
    Rule(JobHost, "left_at", notable),
    Rule(JobHost, "as_of", notable, Q(~Exists(_JOB))),
    Rule(SizeTrend, "as_of", notable),
    Rule(SkippedInput, "observed_at", routine),
    Rule(FindingOccurrence, "window_start", lambda: OCCURRENCES_KEPT),
    Rule(Finding, "last_seen", notable, ~Q(state=FindingState.OPEN)),
    Rule(JobJudgement, "as_of", notable),
    Rule(Incident, "last_seen", notable, ~Q(state=IncidentState.OPEN)),
    Rule(Alert, "resolved_at", notable, Q(state=AlertState.RESOLVED)),
)
RULES_OF_WEIR = (
    Rule(PipelineRun, "started_at", runs, ~Q(state=PipelineRun.State.RUNNING), of_cluster=False),
    Rule(PipelineAlarm, "cleared_at", runs, of_cluster=False),
    Rule(Delivery, "made_at", runs, ~Q(state=DeliveryState.PENDING), of_cluster=False),
    Rule(AuditEntry, "at", audit, of_cluster=False),
    Rule(Session, "expire_date", lambda: HOUR, of_cluster=False),
    Rule(SignInFailures, "window_start", lambda: HOUR, of_cluster=False),
)


def as_of(now: datetime) -> datetime:
    """The instant by which rows are old: ``now``, but at most a day after the instant that
    :func:`advance` stored last. So a clock that is far ahead for some hours deletes few rows too
    early; after a stop of months, the instant catches up a day with each purge.
    """
    last = Heartbeat.objects.filter(name=NAME).values_list("at", flat=True).first()
    return min(now, last + timedelta(days=1)) if last else now


def advance(now: datetime) -> datetime:
    """:func:`as_of`; stores the instant."""
    at = as_of(now)
    Heartbeat.objects.update_or_create(name=NAME, defaults={"at": at})
    return at


def purge(now: datetime, lease: Lease) -> dict[str, int]:
    """Delete expired rows in short transactions; returns deleted rows by table."""
    deleted: dict[str, int] = {}
    for old in _too_old(now):
        name = old.model._meta.model_name or ""
        deleted[name] = deleted.get(name, 0) + _delete(old, lease)
    return {name: count for name, count in deleted.items() if count}


def _too_old(now: datetime) -> Iterator[QuerySet[Any]]:
    for rule in RULES:
        yield rule.old(now)
    yield _open_findings_without_job(now)
    yield from audit_retention.expired_rows(now)
    yield Silence.objects.over(now - notable())
    newest = Manifest.objects.filter(state=Manifest.State.LOADED).order_by("-id").values("id")[:1]
    yield Manifest.objects.filter(loaded_at__lt=now - runs()).exclude(
        id__in=list(newest.values_list("id", flat=True))
    )
    for rule in RULES_OF_WEIR:
        yield rule.old(now)


def _open_findings_without_job(now: datetime) -> QuerySet[Any]:
    """Old open findings of jobs that were deleted, which nothing would close. Findings of unseen
    clusters stay open: such a cluster may still have its problems.
    """
    unseen = Cluster.objects.unseen(now).values("name")
    return (
        Rule(
            Finding,
            "last_seen",
            notable,
            Q(~Exists(_JOB), ~Q(job_id=""), state=FindingState.OPEN),
        )
        .old(now)
        .exclude(cluster__in=unseen)
    )


def _delete(old: QuerySet[Any], lease: Lease) -> int:
    deleted = 0
    while True:
        with lease.writing():
            ids = list(old.order_by().values_list("pk", flat=True)[:ROWS_PER_DELETE])
            if ids:
                _delete_rows(old.model._default_manager.filter(pk__in=ids))
        deleted += len(ids)
        if len(ids) < ROWS_PER_DELETE:
            return deleted


def _delete_rows(rows: QuerySet[Any]) -> None:
    """Delete rows, and correct the sums that contained them."""
    load_places = loads.places_of(rows) if rows.model is JobHost else []
    day_places = days.places_of(rows) if rows.model is HostEvent else []
    rows.delete()
    loads.sum_again(load_places)
    days.sum_again(day_places)
