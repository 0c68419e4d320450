"""Findings of ``restore.without_state`` for a job that returns under another id and whose first
checkpoint has the number 1: Flink continues the numbers of restored jobs. Only the web application
knows earlier attempts (:mod:`webapp.fleet.attempts`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.plain import finding_to_plain
from spark_jobs.diagnosis.samples import EarlierAttempt, JobWindow
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.findings.overrides import limits_of
from webapp.findings.watched import keep
from webapp.fleet import demo
from webapp.fleet.attempts import began_at, of_jobs, other_attempts, over_at
from webapp.fleet.models import JobAnnotation, JobCurrent
from webapp.lib.instants import epoch_ms

RULE, SUBJECT = "restore.without_state", "attempt"
FIRST = 1


def take_up(rows: Sequence[Mapping[str, Any]]) -> None:
    """Judge jobs of just loaded ``rows`` of ``checkpoint_fact``. Call in a transaction."""
    starting_jobs: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["checkpoint_id"] == FIRST:
            starting_jobs[row["cluster"]].add(row["job_id"])
    # A demo replays its recording: each replay begins without state.
    for cluster in demo.clusters().filter(name__in=starting_jobs).values_list("name", flat=True):
        del starting_jobs[cluster]
    for cluster, job_ids in starting_jobs.items():
        later_attempts = JobCurrent.objects.newest_attempts().filter(
            of_jobs(sorted(job_ids), cluster), restored_at__isnull=True
        )
        for job in later_attempts.exclude(first_attempt_id__in=["", F("job_id")]):
            _judge(job)


def _judge(job: JobCurrent) -> None:
    first = CheckpointFact.objects.filter(checkpoint_id=FIRST, **job.identity).exclude(
        is_savepoint=True
    )
    fact, started_at, earlier = first.first(), began_at(job), _earlier(job)
    restores = JobAnnotation.objects.filter(kind="restore", **job.identity)
    if fact is None or started_at is None or earlier is None or restores.exists():
        return
    at = fact.end_time or fact.trigger_time
    window = JobWindow(
        job.cluster,
        job.job_id,
        epoch_ms(at),
        epoch_ms(at) - 60_000,
        job_name=job.name,
        state=job.state,
        start_time_ms=epoch_ms(started_at),
        earlier=earlier,
    )
    for finding in registry.diagnose(window, limits_of(job.cluster), only=(RULE,)).findings:
        _keep(job, finding_to_plain(finding) | {"subject_id": SUBJECT}, started_at, at)


def _keep(job: JobCurrent, plain: dict[str, Any], started_at: datetime, at: datetime) -> None:
    of_start = {
        "cluster": job.cluster,
        "first_attempt_id": job.first_attempt_id,
        "rule": RULE,
        "first_seen": started_at,
    }
    finding = Finding.objects.filter(subject_id=SUBJECT, **of_start).first()
    if finding is None or finding.state == FindingState.OPEN:
        new = Finding(job_id=job.job_id, job_name=job.name, **of_start)
        keep(finding or new, job.cluster, plain, at)


def _earlier(job: JobCurrent) -> EarlierAttempt | None:
    started_at = began_at(job)
    if started_at is None:
        return None
    ends = ((over_at(attempt), attempt) for attempt in other_attempts(job))
    before = [(end, attempt) for end, attempt in ends if end is not None and end <= started_at]
    if not before:
        return None
    ended_at, last = max(before, key=lambda pair: pair[0])
    completed = CheckpointFact.objects.filter(**last.identity, outcome="completed").order_by(
        "-trigger_time", "-id"
    )
    newest = completed.exclude(discarded=True).first() or completed.first()
    if newest is None:
        return None
    return EarlierAttempt(
        last.job_id,
        last.state,
        epoch_ms(ended_at),
        newest.checkpoint_id,
        epoch_ms(newest.trigger_time),
        newest.external_path,
        bool(newest.is_savepoint),
        bool(newest.discarded) or (not newest.is_savepoint and _is_deleted_with(last)),
    )


def _is_deleted_with(job: JobCurrent) -> bool:
    config = job.checkpoint_config or {}
    if config.get("externalized") is False:
        return job.state in ("CANCELED", "FAILED")
    return job.state == "CANCELED" and config.get("retained_on_cancellation") is False
