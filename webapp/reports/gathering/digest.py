"""Gathers a digest of the fleet: a week (or the requested range) of all clusters → a report in the
form of an incident report. Figures are aggregated by the database or bounded.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import TruncDay

from ingest.messages import join_messages, message, plural
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.alerting.models import Alert
from webapp.analyses.document import (
    Advice,
    Block,
    Chart,
    Column,
    Document,
    Fact,
    Facts,
    NotKnown,
    Table,
    Tone,
    Value,
    Verdict,
)
from webapp.checkpoints.models import CheckpointRollup
from webapp.findings.choices import SEVERITY_RANK, FindingState, Severity
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import PresentedFinding
from webapp.fleet.attempts import ids_by_first_attempt
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.quantities import count_text
from webapp.reports import texts
from webapp.reports.document import Part, Report
from webapp.reports.gathering import matters
from webapp.storage.choices import AuditState
from webapp.storage.models import RootFigures

DIGEST = "digest"
NOTABLE = Q(severity_rank__gt=SEVERITY_RANK[Severity.INFO])
MOST_JOBS, MOST_ROWS, MOST_READ, MOST_RULES, MOST_CLUSTERS = 15, 40, 500, 3, 20
MOST_AUDITS = 5_000
LOOK_BACK = timedelta(days=7)
"""The first figure of a root may be older than the range: its history is kept one a day."""
JobId = tuple[str, str]


@dataclass(frozen=True)
class JobWeek:
    """One job's week; ``reason``: its worst finding."""

    cluster: str
    name: str
    critical: int
    warning: int
    failed: int
    settled: int
    reason: str


@dataclass(frozen=True)
class Week:
    """``began`` and each group of ``by_rule``: the worst finding first. ``days``: (day, completed,
    failed) checkpoints. ``alerts``: how many fired.
    """

    jobs: int
    worst: Sequence[JobWeek]
    troubled: int
    began: Sequence[PresentedFinding]
    began_count: int
    ended_count: int
    open_count: int
    by_rule: Sequence[Sequence[PresentedFinding]]
    days: Sequence[tuple[datetime, int, int]]
    storage: Sequence[Mapping[str, Any]]
    alerts: int

    @property
    def completed(self) -> int:
        return sum(completed for _, completed, _ in self.days)

    @property
    def failed(self) -> int:
        return sum(failed for _, _, failed in self.days)


def gather(start: datetime, end: datetime, *, uid: str, made_at: datetime, made_by: str) -> Report:
    """About twenty queries for any size of fleet."""
    week = _read(start, end)
    last = end - timedelta(microseconds=1)
    days = f"{start:%Y-%m-%d}"
    if start.date() != last.date():
        days = message("{start:name} to {last:name}", start=days, last=f"{last:%Y-%m-%d}")
    report = Report(
        kind=DIGEST,
        uid=uid,
        title=message("Fleet digest, {days:name}", days=days),
        made_at=made_at,
        made_by=made_by,
        start=start,
        end=end,
        pages=Document(_verdict(week), tuple(_pages(week, made_at))),
        appendix=tuple(_appendix(week)),
    )
    return cast("Report", texts.fit(report))


def has_anything(start: datetime, end: datetime) -> bool:
    """Whether there are data in this range: an empty week needs no digest."""
    return JobCurrent.objects.filter(last_seen_at__gte=start, first_seen_at__lt=end).exists()


def _read(start: datetime, end: datetime) -> Week:
    notable = Finding.objects.filter(NOTABLE)
    began = notable.filter(first_seen__gte=start, first_seen__lt=end)
    reported, _ = matters.reported(began.order_by(*WORST_FIRST)[:MOST_READ])
    active = notable.filter(first_seen__lt=end, last_seen__gte=start)
    hours = CheckpointRollup.objects.filter(
        period="hour", period_start__gte=start, period_start__lt=end
    ).order_by()
    lived = Q(start_time__lt=end) | Q(start_time=None)
    ended = notable.filter(state=FindingState.CLOSED, last_seen__gte=start, last_seen__lt=end)
    by_day: Any = hours.annotate(day=TruncDay("period_start")).values("day").annotate(**_sums())
    return Week(
        jobs=_job_count(JobCurrent.objects.filter(lived, last_seen_at__gte=start)),
        worst=_worst(active, hours),
        troubled=_job_count(active.exclude(job_id="")),
        began=reported,
        began_count=began.count(),
        ended_count=ended.count(),
        open_count=notable.filter(state=FindingState.OPEN, first_seen__lt=end).count(),
        by_rule=_by_rule(reported),
        days=[
            (row["day"], row["completed"] or 0, _count_failed(row))
            for row in by_day.order_by("day")
        ],
        storage=_storage(start, end),
        alerts=Alert.objects.filter(
            starts_at__gte=start, starts_at__lt=end, fired_at__isnull=False
        ).count(),
    )


def _job_count(rows: Any) -> int:
    count: int = rows.order_by().values("cluster", "first_attempt_id").distinct().count()
    return count


def _sums() -> dict[str, Sum]:
    return {name: Sum(f"{name}_count") for name in ("completed", *FAILED_OUTCOMES)}


def _count_failed(row: Mapping[str, Any]) -> int:
    return sum(row[outcome] or 0 for outcome in FAILED_OUTCOMES)


def _worst(active: Any, hours: Any) -> list[JobWeek]:
    jobs = active.exclude(job_id="").order_by().values("cluster", "first_attempt_id")
    counted = jobs.annotate(
        critical=Count("id", filter=Q(severity=Severity.CRITICAL)),
        warning=Count("id", filter=Q(severity=Severity.WARNING)),
        newest=Max("last_seen"),
    ).order_by("-critical", "-warning", "-newest", "cluster", "first_attempt_id")[:MOST_JOBS]
    keys = [(row["cluster"], row["first_attempt_id"]) for row in counted]
    checkpoints = _hours_by_job(hours, ids_by_first_attempt(keys))
    reasons: dict[JobId, Finding] = {}
    findings = active.filter(first_attempt_id__in={first_id for _, first_id in keys})
    for finding in findings.order_by(*WORST_FIRST)[:MOST_READ]:
        reasons.setdefault((finding.cluster, finding.first_attempt_id), finding)
    return [
        JobWeek(
            key[0],
            texts.name(reason.job_name if (reason := reasons.get(key)) else "", key[1]),
            row["critical"],
            row["warning"],
            *checkpoints.get(key, (0, 0)),
            reason.title if reason else "",
        )
        for row, key in zip(counted, keys, strict=True)
    ]


def _hours_by_job(
    hours: Any, attempts: Mapping[JobId, Sequence[str]]
) -> dict[JobId, tuple[int, int]]:
    """Job → (failed, settled) checkpoints of all its attempts."""
    key_of = {(key[0], job_id): key for key, ids in attempts.items() for job_id in ids}
    rows = (
        hours.filter(job_id__in={job_id for _, job_id in key_of})
        .values("cluster", "job_id")
        .annotate(**_sums())
    )
    counts: dict[JobId, tuple[int, int]] = {}
    for row in rows:
        if key := key_of.get((row["cluster"], row["job_id"])):
            failed, settled = counts.get(key, (0, 0))
            own = _count_failed(row)
            counts[key] = failed + own, settled + own + (row["completed"] or 0)
    return counts


def _by_rule(reported: Iterable[PresentedFinding]) -> list[list[PresentedFinding]]:
    groups: dict[str, list[PresentedFinding]] = defaultdict(list)
    for presented in reported:
        groups[presented.finding.rule].append(presented)
    return sorted(
        groups.values(),
        key=lambda group: (
            -group[0].finding.severity_rank,
            -sum(presented.episodes for presented in group),
        ),
    )


def _storage(start: datetime, end: datetime) -> list[dict[str, Any]]:
    """For each root the last audit in the range compared with the newest before it, or the first in
    it; the largest growth first.
    """
    loaded = RootFigures.objects.filter(
        audit__state=AuditState.LOADED, as_of__gte=start - LOOK_BACK, as_of__lte=end
    )
    columns = ("root", "as_of", "bytes", "orphan_bytes", "missing_files")
    first: dict[str, RootFigures] = {}
    last: dict[str, RootFigures] = {}
    for row in loaded.order_by("-as_of", "-id").only(*columns)[:MOST_AUDITS]:
        last.setdefault(row.root, row)
        if row.root not in first or first[row.root].as_of > start:
            first[row.root] = row
    roots = []
    for root, row in last.items():
        if row.as_of >= start:
            has_two = row.pk != first[root].pk
            grown = row.bytes - first[root].bytes if has_two else None
            roots.append({name: getattr(row, name) for name in columns} | {"grown": grown})
    return sorted(roots, key=lambda root: (-(root["grown"] or 0), -root["bytes"]))


def _verdict(week: Week) -> Verdict:
    jobs = plural(week.jobs, "{count:count} job", "{count:count} jobs")
    if not week.jobs:
        return Verdict("unknown", message("No job was seen in this time"))
    if not week.troubled:
        tone: Tone = "warn" if week.failed else "ok"
        return Verdict(tone, message("{jobs:message} seen, none in trouble", jobs=jobs))
    news = message(
        "{began_count:name} new findings, {ended_count:name} ended",
        began_count=count_text(week.began_count),
        ended_count=count_text(week.ended_count),
    )
    return Verdict(
        "crit" if any(job.critical for job in week.worst) else "warn",
        message(
            "{troubled:name} of {jobs:message} in trouble; {news:message}",
            troubled=count_text(week.troubled),
            jobs=jobs,
            news=news,
        ),
    )


def _pages(week: Week, now: datetime) -> Iterator[Block]:
    yield Facts(tuple(_facts(week)))
    yield Advice(tuple(_causes(week)), message("Why"))
    yield Advice(tuple(_actions(week)), message("What to do"))
    if week.days:
        yield Chart("days", message("Checkpoints by day"), subtitle="UTC")
    yield Table(
        "jobs",
        message("Jobs in trouble"),
        (
            Column("job", message("Job")),
            Column("cluster", message("Cluster")),
            Column("critical", message("Critical"), "count"),
            Column("warning", message("Warning"), "count"),
            Column("failed", message("Checkpoints failed"), "count"),
            Column("settled", message("Of"), "count"),
            Column("reason", message("The worst of it")),
        ),
        tuple(
            (job.name, job.cluster, job.critical, job.warning, job.failed, job.settled, job.reason)
            for job in week.worst
        ),
        subtitle=message("the worst first"),
        empty=message("No job was in trouble."),
        total=week.troubled,
    )
    unseen = list(Cluster.objects.unseen(now).order_by("name").values_list("name", flat=True))
    if unseen:
        yield NotKnown(
            message(
                "Not seen when this was made: {join:name}{more:message}. What happened there since "
                "is not known.",
                join=", ".join(unseen[:MOST_CLUSTERS]),
                more=message(" and more") if len(unseen) > MOST_CLUSTERS else "",
            )
        )


def _facts(week: Week) -> Iterator[Fact]:
    settled = week.completed + week.failed
    yield Fact(
        "completed",
        message("Checkpoints completed"),
        week.completed / settled if settled else None,
        "share",
        message("of {settled:name}", settled=count_text(settled)),
    )
    jobs = message("of {jobs:name}", jobs=count_text(week.jobs))
    yield Fact("troubled", message("Jobs in trouble"), week.troubled, "count", jobs)
    yield Fact(
        "new_findings",
        message("New findings"),
        week.began_count,
        "count",
        message(
            "{ended_count:name} ended, {open_count:name} open",
            ended_count=count_text(week.ended_count),
            open_count=count_text(week.open_count),
        ),
    )
    yield Fact("alerts", message("Alerts"), week.alerts, "count")
    grown = [root["grown"] for root in week.storage if root["grown"] is not None]
    yield Fact(
        "grown_bytes",
        message("Storage growth"),
        sum(grown) if grown else None,
        "bytes",
        message("{roots:number} roots", roots=len(week.storage))
        if week.storage
        else message("not audited"),
    )


def _causes(week: Week) -> Iterator[str]:
    for group in week.by_rule[:MOST_RULES]:
        times = sum(presented.episodes for presented in group)
        jobs = len({matters.job_of(presented) for presented in group})
        often = message(
            "{count:message} on {jobs:message}. The worst: {title:text}.",
            count=plural(times, "{count:count} time", "{count:count} times"),
            jobs=plural(jobs, "{count:count} job", "{count:count} jobs"),
            title=group[0].finding.title,
        )
        yield join_messages((group[0].rule_title, ". ", often))
    if not week.by_rule:
        yield message("No rule found anything new.")


def _actions(week: Week) -> list[str]:
    steps: dict[str, str] = {}
    for group in week.by_rule:
        row = group[0].finding
        where = matters.job_name(group[0]) or row.cluster
        lead = join_messages((group[0].rule_title, where), ", ")
        steps.setdefault(row.next_step, join_messages((lead, ". ", row.next_step)))
    return list(steps.values())[:MOST_RULES] or [message("There is nothing to act on.")]


def _appendix(week: Week) -> Iterator[Part]:
    counts = message(
        "{began_count:name} began, {ended_count:name} ended, {open_count:name} are open",
        began_count=count_text(week.began_count),
        ended_count=count_text(week.ended_count),
        open_count=count_text(week.open_count),
    )
    findings: Iterator[tuple[Value, ...]] = (
        (
            row.severity,
            row.title,
            texts.name(row.job_name, row.job_id) or row.cluster,
            row.first_seen,
            row.state == FindingState.OPEN,
        )
        for row in (presented.finding for presented in week.began[:MOST_ROWS])
    )
    columns = (
        Column("severity", message("Severity")),
        Column("finding", message("Finding")),
        Column("where", message("Where")),
        Column("first_seen", message("First seen"), "instant"),
        Column("is_open", message("Still open"), "flag"),
    )
    yield _part(
        "new-findings", message("New findings"), counts, columns, findings, week.began_count
    )
    columns = (
        Column("day", message("Day"), "instant"),
        Column("completed", message("Completed"), "count"),
        Column("failed", message("Failed"), "count"),
    )
    yield _part("days", message("Checkpoints by day"), "UTC", columns, week.days)
    columns = (
        Column("root", message("Root"), "mono"),
        Column("as_of", message("Audited"), "instant"),
        Column("bytes", message("Bytes"), "bytes"),
        Column("grown", message("Growth"), "bytes"),
        Column("orphan_bytes", message("Orphaned"), "bytes"),
        Column("missing_files", message("Missing files"), "count"),
    )
    roots = (tuple(root[column.key] for column in columns) for root in week.storage)
    growth = message("the largest growth first")
    yield _part("storage", message("Checkpoint storage"), growth, columns, roots)


def _part(
    key: str,
    title: str,
    sentence: str,
    columns: tuple[Column, ...],
    rows: Iterable[tuple[Value, ...]],
    total: int | None = None,
) -> Part:
    shown = tuple(rows)
    empty = message("Nothing in this time.")
    table = Table(key, title, columns, shown[:MOST_ROWS], empty=empty, total=total or len(shown))
    return Part(key, title, Document(Verdict("done", sentence), (table,)))
