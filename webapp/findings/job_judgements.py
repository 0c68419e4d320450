"""After folding: closes findings that are no longer seen, and sets the health of judged jobs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ingest.job_states import NOT_LISTED
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.health import health_of, worst_points
from spark_jobs.diagnosis.samples import JobWindow
from webapp.findings.choices import FindingState
from webapp.findings.episodes import closed_at
from webapp.findings.folding import hold_of, lives_of
from webapp.findings.job_attempts import STORAGE_RULES, findings_by_attempt, findings_of
from webapp.findings.models import Finding, JobJudgement
from webapp.findings.occurrences import JOBS_AT_ONCE
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, HealthState
from webapp.fleet.models import OVER, Cluster, JobCurrent
from webapp.lib.chunks import chunks

ROWS_AT_ONCE = 500
QUIET = ("source.lag_growing", "source.idle")
"""Rules that need data which many connectors never report; the analysis of source lag says so."""


def close_unseen() -> int:
    """Close findings that were not seen for the hold time, whose job ended, or whose job id now
    belongs to another job, as in application clusters; returns how many. Call it in a transaction.
    """
    names = ("id", "cluster", "first_attempt_id", "rule", "last_seen", "job_name", "replaced_at")
    later_jobs = JobCurrent.objects.filter(
        cluster=OuterRef("cluster"),
        job_id=OuterRef("job_id"),
        start_time__gt=OuterRef("last_seen"),
    ).exclude(name=OuterRef("job_name"))
    # Findings of storage audits are closed by the next audit.
    rows = list(
        Finding.objects.open()
        .exclude(job_id="")
        .exclude(rule__startswith=STORAGE_RULES)
        .annotate(replaced_at=Subquery(later_jobs.values("start_time")))
        .values_list(*names)
    )
    closing: list[tuple[int, datetime]] = []
    for part in chunks(rows, ROWS_AT_ONCE):
        lives = lives_of((cluster, first_id) for _id, cluster, first_id, *_ in part)
        for id_, cluster, first_id, rule, last_seen, name, replaced_at in part:
            life = lives[cluster, first_id]
            ended_at = life.end_of(rule) or (replaced_at if name else None)
            at = closed_at(last_seen, hold_of(rule), life.judged_to, ended_at)
            if at is not None:
                closing.append((id_, at))
    findings = [
        Finding(pk=id_, state=FindingState.CLOSED, closed_at=at, to_alert=True)
        for id_, at in closing
    ]
    Finding.objects.bulk_update(
        findings, ["state", "closed_at", "to_alert"], batch_size=ROWS_AT_ONCE
    )
    return len(findings)


def had_data(unknowns: Sequence[Any]) -> bool:
    """False if every rule on jobs lacked data."""
    rules = [rule for rule in registry.rules_for(JobWindow) if not rule.startswith("collect.")]
    return len(unknowns) < len(rules) or not rules


def shown_unknowns(unknowns: Sequence[Any]) -> list[Any]:
    """Unknowns that get a line on pages; ``had_data`` needs all."""
    return [unknown for unknown in unknowns if unknown.get("rule") not in QUIET]


def set_health(judgements: Sequence[Mapping[str, Any]]) -> None:
    """``judgements``: rows of ``job_judgement``. Call it in a transaction."""
    by_cluster: dict[str, dict[str, bool]] = defaultdict(dict)
    for row in judgements:
        by_cluster[row["cluster"]][row["job_id"]] = had_data(json.loads(row["unknowns"]))
    unseen = set(Cluster.objects.unseen(timezone.now()).values_list("name", flat=True))
    for cluster, jobs in by_cluster.items():
        for part in chunks(jobs.items(), JOBS_AT_ONCE):
            _set_health_of_cluster(cluster, dict(part), is_seen=cluster not in unseen)


def _set_health_of_cluster(cluster: str, jobs: Mapping[str, bool], *, is_seen: bool) -> None:
    """``jobs``: job id → whether any rule had data."""
    judged_to = JobJudgement.objects.filter(
        cluster=OuterRef("cluster"), job_id=OuterRef("job_id")
    ).values("judged_to")[:1]
    rows = JobCurrent.objects.filter(cluster=cluster, job_id__in=list(jobs))
    ended = rows.filter(OVER)
    ended.update(health=None, health_state=HealthState.ENDED, judged_at=Subquery(judged_to))
    _rank_ended(cluster, ended)
    running = rows.exclude(OVER)
    if not is_seen:
        running.update(health=None, health_state=HealthState.UNKNOWN, judged_at=Subquery(judged_to))
        return
    attempts = list(running.only("cluster", "job_id", "first_attempt_id"))
    fields = ("cluster", "first_attempt_id", "job_id", "rule", "severity", "confidence")
    open_findings = Finding.objects.open().filter(findings_of(attempts)).only(*fields)
    by_health: dict[int | None, list[str]] = defaultdict(list)
    for (_, job_id), findings in findings_by_attempt(attempts, open_findings).items():
        by_health[health_of(findings, judged=jobs[job_id]).value].append(job_id)
    for health, job_ids in by_health.items():
        state = HealthState.UNKNOWN if health is None else HealthState.JUDGED
        running.filter(job_id__in=job_ids).update(
            health=health, health_state=state, judged_at=Subquery(judged_to)
        )


def _rank_ended(cluster: str, ended: QuerySet[JobCurrent]) -> None:
    points_of = dict.fromkeys(ended.values_list("job_id", flat=True), 0)
    if not points_of:
        return
    findings = Finding.objects.filter(cluster=cluster, job_id__in=list(points_of))
    for finding in findings.only("job_id", "rule", "severity", "confidence"):
        points_of[finding.job_id] = max(points_of[finding.job_id], worst_points([finding]))
    by_points: dict[int, list[str]] = defaultdict(list)
    for job, points in points_of.items():
        by_points[points].append(job)
    for points, job_ids in by_points.items():
        ended.filter(job_id__in=job_ids).update(worst_finding_points=points)


def forget_unseen(now: datetime) -> int:
    """Clear the health of jobs whose state is unknown, or that are no longer watched or listed."""
    changed = 0
    for status, health_state in (
        (UNKNOWN_STATUS, HealthState.UNKNOWN),
        (UNWATCHED_STATUS, HealthState.ENDED),
        (NOT_LISTED, HealthState.ENDED),
    ):
        jobs: Any = JobCurrent.objects.with_status(now).filter(
            Q(status=status) & ~Q(health_state=health_state)
        )
        ids = list(jobs.order_by().values_list("pk", flat=True))
        for part in chunks(ids, ROWS_AT_ONCE):
            JobCurrent.objects.filter(pk__in=part).update(health=None, health_state=health_state)
        changed += len(ids)
    return changed
