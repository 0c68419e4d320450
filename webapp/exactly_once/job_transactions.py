"""The transactions of one job as page, API and command show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from spark_jobs.diagnosis.rules.sink_transaction_timeout import RATIO, SET
from spark_jobs.diagnosis.samples import CheckpointSample, JobStart, LogEvent
from spark_jobs.diagnosis.transactions import LOST, TOLD, Transactions, transactions_of
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.overrides import limits_of
from webapp.fleet import models
from webapp.fleet.models import JobStart as StoredStart

MOST_COMMITS, MOST_STARTS, MOST_LINES = 500, 50, 500
LOOK_BACK = timedelta(hours=1)
COMMITTER = "committer"
"""In the names of vertices that commit: Flink calls those of sinks so (Sink V2, 1.15 and later)."""


@dataclass(frozen=True)
class JobTransactions:
    """``at``: up to when it is reckoned. ``mode``: of its checkpoints. ``committers``: vertices that commit, by name; files are committed
    so too. ``open_ratio``: of the time-out, from which on the rule warns."""

    at: datetime
    mode: str | None
    interval_ms: int | None
    committers: Sequence[str]
    open_ratio: float
    of_sinks: Transactions


def job_transactions(job: models.JobCurrent, at: datetime, since: datetime | None = None) -> JobTransactions:
    """Commits from ``since`` on, by default of the last hour. Five queries."""
    limits = limits_of(job.cluster, job.job_id, job.name)
    own: Any = {"cluster": job.cluster, "job_id": job.job_id}
    done = CheckpointFact.objects.filter(**own, outcome="completed", is_savepoint=False, trigger_time__lte=at).order_by("-trigger_time")
    starts = StoredStart.objects.filter(**own, at__lte=at).order_by("-at")
    told = models.LogEvent.objects.filter(**own, kind__in=TOLD, ts__lte=at).order_by("-ts")
    found = transactions_of(
        [
            CheckpointSample(number, _ms(trigger), "completed", end_time_ms=_ms(end) if end else None)
            for number, trigger, end in reversed(done.values_list("checkpoint_id", "trigger_time", "end_time")[:MOST_COMMITS])
        ],
        [
            JobStart(_ms(begun), kind, _ms(running), total_ms=total, restore_ms=restore)
            for begun, kind, running, total, restore in reversed(
                starts.values_list("at", "kind", "running_at", "total_ms", "restore_ms")[:MOST_STARTS]
            )
        ],
        [LogEvent(_ms(ts), kind, fields=fields or {}) for ts, kind, fields in reversed(_lines(told))],
        _ms(at),
        _ms(since or at - LOOK_BACK),
        int(limits[SET]),
    )
    vertices = (job.graph or {}).get("vertices") or ()
    committers = [one["name"] for one in vertices if COMMITTER in (one.get("name") or "").lower()]
    config = job.checkpoint_config or {}
    return JobTransactions(at, config.get("mode"), job.checkpoint_interval_ms, committers, limits[RATIO], found)


def _lines(told: Any) -> list[Any]:
    """The newest; losses are not crowded out by warnings at each commit."""
    names = ("ts", "kind", "fields")
    lost, others = told.filter(kind=LOST).values_list(*names)[:MOST_LINES], told.exclude(kind=LOST).values_list(*names)[:MOST_LINES]
    return sorted([*lost, *others], key=lambda one: one[0], reverse=True)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
