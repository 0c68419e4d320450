"""What a digest reports of a stretch of time, before it becomes words: every figure grouped by the
database or bounded.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, Sum

from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointRollup
from webapp.findings.choices import SEVERITY_RANK, FindingState, Severity
from webapp.findings.models import WORST_FIRST, Finding
from webapp.fleet.attempts import ids_by_first_attempt
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import begin_of_day, day_of
from webapp.reports.document import Day, ReportedFinding
from webapp.reports.gathering import alerts, bursts, kept_snapshots, rule_findings, storage_growth

MOST_JOBS = 15
MOST_NEW = 500
NOTABLE = Q(severity_rank__gt=SEVERITY_RANK[Severity.INFO])
JobId = tuple[str, str]


@dataclass(frozen=True)
class JobWeek:
    """One job's week; ``reason`` is the worst that was found."""

    cluster: str
    job_id: str
    name: str
    critical: int
    warning: int
    failed: int
    settled: int
    reason: str


@dataclass(frozen=True)
class ClusterCheckpoints:
    """Checkpoints of one cluster, savepoints included: roll-ups do not tell them apart by
    outcome.
    """

    cluster: str
    jobs: int
    completed: int
    failed: int

    @property
    def success(self) -> float | None:
        settled = self.completed + self.failed
        return self.completed / settled if settled else None


@dataclass(frozen=True)
class Week:
    """Everything a digest reports, before it becomes words."""

    start: datetime
    end: datetime
    jobs: int
    worst: tuple[JobWeek, ...]
    troubled: int
    checkpoints: tuple[ClusterCheckpoints, ...]
    days: tuple[Day, ...]
    began: tuple[ReportedFinding, ...]
    began_count: int
    ended_count: int
    open_count: int
    by_rule: tuple[tuple[str, int, int, ReportedFinding], ...]
    roots: tuple[storage_growth.RootGrowth, ...]
    kept: tuple[kept_snapshots.KeptSnapshots, ...]
    alerts: tuple[tuple[str, int, int], ...]
    bursts: bursts.Bursts | None

    @property
    def completed(self) -> int:
        return sum(checkpoint.completed for checkpoint in self.checkpoints)

    @property
    def failed(self) -> int:
        return sum(checkpoint.failed for checkpoint in self.checkpoints)


def read(start: datetime, end: datetime) -> tuple[Week, int]:
    """The week, and how many new findings are left out.

    About a dozen queries, whatever the fleet's size.
    """
    began = Finding.objects.filter(NOTABLE, first_seen__gte=start, first_seen__lt=end)
    reported, left_out = rule_findings.reported(began.order_by(*WORST_FIRST)[:MOST_NEW])
    active = Finding.objects.filter(NOTABLE, first_seen__lt=end, last_seen__gte=start)
    hours = CheckpointRollup.objects.filter(
        period="hour", period_start__gte=start, period_start__lt=end
    )
    week = Week(
        start=start,
        end=end,
        jobs=JobCurrent.objects.filter(
            Q(start_time__lt=end) | Q(start_time=None), last_seen_at__gte=start
        )
        .values("cluster", "first_attempt_id")
        .distinct()
        .count(),
        worst=_worst(active, hours),
        troubled=active.exclude(job_id="")
        .order_by()
        .values("cluster", "first_attempt_id")
        .distinct()
        .count(),
        checkpoints=_checkpoints(hours),
        days=_days(hours, start, end),
        began=reported,
        began_count=began.count(),
        ended_count=Finding.objects.filter(
            NOTABLE, state=FindingState.CLOSED, last_seen__gte=start, last_seen__lt=end
        ).count(),
        open_count=Finding.objects.filter(
            NOTABLE, state=FindingState.OPEN, first_seen__lt=end
        ).count(),
        by_rule=_by_rule(reported),
        roots=storage_growth.of_roots(start, end),
        kept=kept_snapshots.of_roots(),
        alerts=alerts.by_rule(start, end),
        bursts=bursts.read(start, end),
    )
    return week, left_out


def _worst(active: Any, hours: Any) -> tuple[JobWeek, ...]:
    of_jobs = active.exclude(job_id="").order_by().values("cluster", "first_attempt_id")
    counted = of_jobs.annotate(
        critical=Count("id", filter=Q(severity=Severity.CRITICAL)),
        warning=Count("id", filter=Q(severity=Severity.WARNING)),
        worst=Max("severity_rank"),
        newest=Max("last_seen"),
    ).order_by("-critical", "-warning", "-newest", "cluster", "first_attempt_id")[:MOST_JOBS]
    keys = [(row["cluster"], row["first_attempt_id"]) for row in counted]
    attempts = ids_by_first_attempt(keys)
    checkpoints = _of_jobs(hours, attempts)
    reasons: dict[JobId, Finding] = {}
    firsts = {first_id for _cluster, first_id in keys}
    of_these = active.filter(first_attempt_id__in=firsts)
    for finding in of_these.order_by(*WORST_FIRST)[:MOST_NEW]:
        reasons.setdefault((finding.cluster, finding.first_attempt_id), finding)
    weeks = []
    for row, key in zip(counted, keys, strict=True):
        reason = reasons.get(key)
        settled, failed = checkpoints.get(key, (0, 0))
        reported = rule_findings.reported([reason])[0][0] if reason else None
        name = reported.job_name if reported else key[1]
        weeks.append(
            JobWeek(
                key[0],
                attempts[key][-1],
                name,
                row["critical"],
                row["warning"],
                failed,
                settled,
                reported.title if reported else "",
            )
        )
    return tuple(weeks)


def _sums() -> dict[str, Sum]:
    return {name: Sum(f"{name}_count") for name in ("completed", *FAILED_OUTCOMES)}


def _failed(row: Mapping[str, int | None]) -> int:
    return sum(row[outcome] or 0 for outcome in FAILED_OUTCOMES)


def _of_jobs(hours: Any, attempts: Mapping[JobId, Sequence[str]]) -> dict[JobId, tuple[int, int]]:
    """Of each job the checkpoints that ended and those that failed, over all its attempts."""
    key_of = {(key[0], job_id): key for key, ids in attempts.items() for job_id in ids}
    rows = (
        hours.filter(job_id__in={job_id for _cluster, job_id in key_of})
        .order_by()
        .values("cluster", "job_id")
        .annotate(**_sums())
    )
    counts: dict[JobId, tuple[int, int]] = {}
    for row in rows:
        if key := key_of.get((row["cluster"], row["job_id"])):
            settled, failed = counts.get(key, (0, 0))
            counts[key] = (
                settled + (row["completed"] or 0) + _failed(row),
                failed + _failed(row),
            )
    return counts


def _checkpoints(hours: Any) -> tuple[ClusterCheckpoints, ...]:
    rows = (
        hours.order_by().values("cluster").annotate(jobs=Count("job_id", distinct=True), **_sums())
    )
    checkpoints = [
        ClusterCheckpoints(row["cluster"], row["jobs"], row["completed"] or 0, _failed(row))
        for row in rows
    ]
    return tuple(
        sorted(
            checkpoints,
            key=lambda checkpoint: (
                checkpoint.success if checkpoint.success is not None else 2,
                checkpoint.cluster,
            ),
        )
    )


def _days(hours: Any, start: datetime, end: datetime) -> tuple[Day, ...]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in hours.order_by().values("period_start").annotate(**_sums()):
        day = f"{row['period_start'].astimezone(UTC):%Y-%m-%d}"
        counts[day].update(completed=row["completed"] or 0, failed=_failed(row))
    if not counts:
        return ()
    first = begin_of_day(day_of(start))
    days = [first + timedelta(days=number) for number in range((end - first).days + 1)]
    return tuple(
        Day(day, counts[f"{day:%Y-%m-%d}"]["completed"], counts[f"{day:%Y-%m-%d}"]["failed"])
        for day in days
        if day < end
    )


def _by_rule(
    reported: Sequence[ReportedFinding],
) -> tuple[tuple[str, int, int, ReportedFinding], ...]:
    """Rule title, how many, on how many jobs, and the worst of them; the most frequent of the worst
    first.
    """
    groups: dict[str, list[ReportedFinding]] = defaultdict(list)
    for finding in reported:
        groups[finding.rule].append(finding)
    rows = [
        (
            rows[0].rule_title,
            sum(row.episodes for row in rows),
            len({(row.cluster, row.job_id) for row in rows}),
            rows[0],
        )
        for rows in groups.values()
    ]
    return tuple(sorted(rows, key=lambda row: (-rule_findings.rank(row[3]), -row[1])))
