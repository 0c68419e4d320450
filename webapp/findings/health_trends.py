from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from spark_jobs.diagnosis.health import health_of
from webapp.charts.trends import SLICES
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.findings.coverage import judged_slices
from webapp.findings.job_attempts import findings_by_attempt, findings_of
from webapp.findings.models import WORST_FIRST, Finding, JobJudgement
from webapp.fleet.attempts import Job
from webapp.fleet.badges import health_badge
from webapp.fleet.choices import HealthState
from webapp.fleet.models import JobCurrent

MOST_FINDINGS = 2_000
Trend = list[tuple[int | None, str]]
"""Per slice: health 0…100 (None if nothing was judged) and the tone of its badge."""


def health_trends(jobs: Sequence[JobCurrent], start: datetime, end: datetime) -> dict[Job, Trend]:
    """(cluster, job id) → trend. Jobs without a judged slice are left out, and jobs of
    unknown health, which may be judged without data.
    """
    jobs = [job for job in jobs if job.health_state != HealthState.UNKNOWN]
    rows = Finding.objects.filter(
        findings_of(jobs),
        first_seen__lte=end,
        last_seen__gte=start,
        severity_rank__gt=SEVERITY_RANK[Severity.INFO],
    ).only(
        "cluster",
        "first_attempt_id",
        "job_id",
        "rule",
        "severity",
        "confidence",
        "first_seen",
        "last_seen",
    )
    findings = findings_by_attempt(jobs, rows.order_by(*WORST_FIRST)[:MOST_FINDINGS])
    ids_by_cluster = defaultdict(list)
    for job in jobs:
        ids_by_cluster[job.cluster].append(job.job_id)
    judgements = JobJudgement.objects.filter(
        cluster__in=list(ids_by_cluster), job_id__in=[job.job_id for job in jobs]
    ).values_list("cluster", "job_id", "covered")
    edges = [start + (end - start) / SLICES * index for index in range(SLICES + 1)]
    trends = {}
    for cluster, job_id, runs in judgements:
        if job_id not in ids_by_cluster[cluster]:
            continue
        judged = judged_slices(runs, start, end, SLICES)
        if any(judged):
            trends[cluster, job_id] = _trend(findings[cluster, job_id], edges, judged)
    return trends


def _trend(findings: Sequence[Finding], edges: Sequence[datetime], judged: Sequence[bool]) -> Trend:
    trend: Trend = []
    for is_judged, (start, end) in zip(judged, pairwise(edges), strict=True):
        in_slice = [row for row in findings if row.first_seen < end and row.last_seen >= start]
        health = health_of(in_slice, judged=is_judged).value
        trend.append((health, health_badge(health, HealthState.JUDGED).tone))
    return trend
