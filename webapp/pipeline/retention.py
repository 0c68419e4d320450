"""How long rows are kept. Only live clusters age: recordings stay until they are removed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from spark_jobs.serving import FAILED_OUTCOMES
from webapp.accounts.models import SignInFailures
from webapp.alerting.choices import AlertState
from webapp.alerting.models import Alert, MaintenanceWindow, Silence
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.config.row_retention import NOTABLE, ROUTINE, RUNS, YEARS
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery
from webapp.findings.folding import OCCURRENCES_KEPT
from webapp.findings.models import Finding, FindingSight, JobJudgement
from webapp.flame_graphs.models import FlameGraph
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobException, LogEvent
from webapp.growth.models import ClusterDay, StoredDay
from webapp.pressure.models import PressureWindow
from webapp.starts.models import JobStart
from webapp.storage.auditing import audit_retention
from webapp.work.lease import Lease
from webapp.work.models import Manifest, PipelineAlarm, PipelineRun, SkippedInput

SLOW_MS = 60_000
"""A checkpoint that took this long is kept as long as a failed one."""

ROWS_PER_DELETE = 2_000


def purge(now: datetime, lease: Lease) -> dict[str, int]:
    """Delete what is too old, in short transactions; returns rows deleted by table."""
    deleted: dict[str, int] = {}
    for old in _too_old(now):
        name = old.model._meta.model_name or ""
        deleted[name] = deleted.get(name, 0) + _delete(old, lease)
    return {name: count for name, count in deleted.items() if count}


def _too_old(now: datetime) -> Iterator[QuerySet[Any]]:
    recordings = Cluster.objects.filter(kind=ClusterKind.RECORDING).values("name")
    notable = Q(outcome__in=FAILED_OUTCOMES) | Q(is_savepoint=True) | Q(end_to_end_ms__gte=SLOW_MS)
    for old in (
        CheckpointFact.objects.filter(~notable, trigger_time__lt=now - ROUTINE),
        CheckpointFact.objects.filter(trigger_time__lt=now - NOTABLE),
        CheckpointRollup.objects.filter(period="hour", period_start__lt=now - NOTABLE),
        CheckpointRollup.objects.filter(period_start__lt=now - YEARS),
        CheckpointUpload.objects.filter(as_of__lt=now - NOTABLE),
        PressureWindow.objects.filter(window_start__lt=now - ROUTINE),
        FlameGraph.objects.filter(wanted_at__lt=now - ROUTINE),
        LogEvent.objects.filter(ts__lt=now - ROUTINE),
        JobException.objects.filter(ts__lt=now - NOTABLE),
        JobAnnotation.objects.filter(at__lt=now - NOTABLE),
        JobStart.objects.filter(at__lt=now - NOTABLE),
        JobCurrent.objects.filter(as_of__lt=now - NOTABLE),
        SizeTrend.objects.filter(as_of__lt=now - NOTABLE),
        SkippedInput.objects.filter(observed_at__lt=now - ROUTINE),
        FindingSight.objects.filter(window_start__lt=now - OCCURRENCES_KEPT),
        Finding.objects.filter(last_seen__lt=now - NOTABLE),
        JobJudgement.objects.filter(as_of__lt=now - NOTABLE),
        Alert.objects.filter(state=AlertState.RESOLVED, resolved_at__lt=now - NOTABLE),
    ):
        yield old.exclude(cluster__in=recordings)
    for days in (ClusterDay, StoredDay):
        yield days._default_manager.filter(day__lt=(now - YEARS).date()).exclude(cluster__in=recordings)
    yield from audit_retention.too_old(now)
    yield Silence.objects.over(now - NOTABLE)
    yield MaintenanceWindow.objects.over(now - NOTABLE)
    newest = Manifest.objects.filter(state=Manifest.State.LOADED).order_by("-id").values("id")[:1]
    yield Manifest.objects.filter(loaded_at__lt=now - RUNS).exclude(id__in=list(newest.values_list("id", flat=True)))
    yield PipelineRun.objects.filter(started_at__lt=now - RUNS).exclude(state=PipelineRun.State.RUNNING)
    yield PipelineAlarm.objects.filter(cleared_at__lt=now - RUNS)
    yield Delivery.objects.filter(made_at__lt=now - RUNS).exclude(state=DeliveryState.PENDING)
    yield SignInFailures.objects.filter(window_start__lt=now - timedelta(hours=1))


def _delete(old: QuerySet[Any], lease: Lease) -> int:
    deleted = 0
    while True:
        with lease.writing():
            ids = list(old.order_by().values_list("pk", flat=True)[:ROWS_PER_DELETE])
            if ids:
                old.model._default_manager.filter(pk__in=ids).delete()
        deleted += len(ids)
        if len(ids) < ROWS_PER_DELETE:
            return deleted
