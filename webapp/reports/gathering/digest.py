"""Gathers a digest of the fleet: a week (or the requested range) of all clusters → a report in the
form of an incident report. Figures are aggregated by the database or bounded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum
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
from webapp.lib.quantities import bytes_text, count_text
from webapp.reports import texts
from webapp.reports.document import Part, Report
from webapp.reports.gathering import matters, sources
from webapp.storage.choices import AuditState
from webapp.storage.models import CheckpointStorage, JobStorage, RootFigures
from webapp.storage.newest_audits import latest_audits

Progress = Callable[[int, str], None]
DIGEST = "digest"
NOTABLE = Q(severity_rank__gt=SEVERITY_RANK[Severity.INFO])
MOST_JOBS, MOST_ROWS, MOST_READ, MOST_IN_FULL = 15, 40, 500, 6
MOST_RULES, MOST_LINES = 3, 4
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
    """``by_rule``: rule → its findings, the worst first. ``alerts``: how many fired."""

    start: datetime
    end: datetime
    jobs: int
    worst: Sequence[JobWeek]
    troubled: int
    began: Sequence[PresentedFinding]
    began_count: int
    ended_count: int
    open_count: int
    by_rule: Sequence[Sequence[PresentedFinding]]
    days: Sequence[tuple[Value, ...]]
    storage: Sequence[Mapping[str, Any]]
    alerts: int

    @property
    def completed(self) -> int:
        return sum(int(str(completed)) for _, completed, _ in self.days)

    @property
    def failed(self) -> int:
        return sum(int(str(failed)) for _, _, failed in self.days)

    @property
    def grown(self) -> list[int]:
        return [root["grown"] for root in self.storage if root["grown"] is not None]


def gather(
    start: datetime,
    end: datetime,
    *,
    uid: str,
    made_at: datetime,
    made_by: str,
    progress: Progress = lambda done, words: None,
) -> Report:
    """About twenty queries for any size of fleet."""
    progress(10, message("counting what the week brought"))
    week, left_out = _read(start, end)
    progress(60, message("putting it into words"))
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
        pages=Document(_verdict(week), tuple(_pages(week))),
        appendix=(*_appendix(week), _sources(made_at, left_out)),
    )
    fit: Report = texts.fit(report)
    return fit


def has_anything(start: datetime, end: datetime) -> bool:
    """Whether there are data in this range: an empty week needs no digest."""
    return JobCurrent.objects.filter(last_seen_at__gte=start, first_seen_at__lt=end).exists()


def _read(start: datetime, end: datetime) -> tuple[Week, int]:
    notable = Finding.objects.filter(NOTABLE)
    began = notable.filter(first_seen__gte=start, first_seen__lt=end)
    reported, left_out = matters.reported(began.order_by(*WORST_FIRST)[:MOST_READ])
    active = notable.filter(first_seen__lt=end, last_seen__gte=start)
    hours = CheckpointRollup.objects.filter(
        period="hour", period_start__gte=start, period_start__lt=end
    ).order_by()
    lived = Q(start_time__lt=end) | Q(start_time=None)
    seen = JobCurrent.objects.filter(lived, last_seen_at__gte=start)
    ended = notable.filter(state=FindingState.CLOSED, last_seen__gte=start, last_seen__lt=end)
    by_day: Any = hours.annotate(day=TruncDay("period_start")).values("day").annotate(**_sums())
    week = Week(
        start=start,
        end=end,
        jobs=_job_count(seen),
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
        alerts=_alerts(start, end),
    )
    return week, left_out


def _job_count(rows: Any) -> int:
    count: int = rows.order_by().values("cluster", "first_attempt_id").distinct().count()
    return count


def _sums() -> dict[str, Sum]:
    return {name: Sum(f"{name}_count") for name in ("completed", *FAILED_OUTCOMES)}


def _count_failed(row: Mapping[str, Any]) -> int:
    return sum(row[outcome] or 0 for outcome in FAILED_OUTCOMES)


def _worst(active: Any, hours: Any) -> list[JobWeek]:
    of_jobs = active.exclude(job_id="").order_by().values("cluster", "first_attempt_id")
    counted = of_jobs.annotate(
        critical=Count("id", filter=Q(severity=Severity.CRITICAL)),
        warning=Count("id", filter=Q(severity=Severity.WARNING)),
        newest=Max("last_seen"),
    ).order_by("-critical", "-warning", "-newest", "cluster", "first_attempt_id")[:MOST_JOBS]
    keys = [(row["cluster"], row["first_attempt_id"]) for row in counted]
    checkpoints = _hours_by_job(hours, ids_by_first_attempt(keys))
    reasons: dict[JobId, Finding] = {}
    of_these = active.filter(first_attempt_id__in={first_id for _, first_id in keys})
    for finding in of_these.order_by(*WORST_FIRST)[:MOST_READ]:
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
    times = {rule: sum(finding.episodes for finding in group) for rule, group in groups.items()}
    return sorted(
        groups.values(),
        key=lambda group: (-group[0].finding.severity_rank, -times[group[0].finding.rule]),
    )


def _storage(start: datetime, end: datetime) -> list[dict[str, Any]]:
    """For each root the last audit in the range compared with the newest before it, or the first in
    it; and what Flink never deletes itself, by the newest audit.
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
    kept = _kept_snapshots()
    roots = []
    for root, row in last.items():
        if row.as_of >= start:
            alone = row.pk == first[root].pk
            grown = None if alone else row.bytes - first[root].bytes
            orphans = None if alone else row.orphan_bytes - first[root].orphan_bytes
            values = {name: getattr(row, name) for name in columns}
            more = {"grown": grown, "orphans_grown": orphans}
            roots.append(values | more | kept.pop(root, {}))
    roots += [{"root": root, "grown": None, **values} for root, values in kept.items()]
    return sorted(roots, key=lambda root: (-(root["grown"] or 0), -root.get("bytes", 0)))


def _kept_snapshots() -> dict[str, dict[str, Any]]:
    """Savepoints, and checkpoints of ended jobs, by root. Two queries."""
    audits = latest_audits()
    of_savepoints = CheckpointStorage.objects.filter(audit__in=audits, is_savepoint=True)
    of_ended = JobStorage.objects.filter(
        audit__in=audits, terminal=True, checkpoints__gt=0, live_files__gt=0
    )
    savepoints = (
        of_savepoints.order_by()
        .values("root")
        .annotate(savepoints=Count("id"), savepoint_bytes=Sum("bytes"), oldest=Min("modified"))
    )
    ended = (
        of_ended.order_by()
        .values("root")
        .annotate(ended_jobs=Count("id"), ended_bytes=Sum("live_bytes"))
    )
    by_root: dict[str, dict[str, Any]] = defaultdict(dict)
    rows: list[Mapping[str, Any]] = [*savepoints, *ended]
    for row in rows:
        by_root[row["root"]] |= {name: value for name, value in row.items() if name != "root"}
    return by_root


def _alerts(start: datetime, end: datetime) -> int:
    return Alert.objects.filter(
        starts_at__gte=start, starts_at__lt=end, fired_at__isnull=False
    ).count()


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


def _pages(week: Week) -> Iterator[Block]:
    yield Facts(tuple(_facts(week)))
    for title, lines in (
        (message("What happened"), _event_sentences(week)),
        (message("Why"), _causes(week)),
        (message("What it cost"), _costs(week)),
        (message("What to do"), _actions(week)),
    ):
        if shown := tuple(lines):
            yield Advice(shown, title)
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


def _facts(week: Week) -> Iterator[Fact]:
    settled = week.completed + week.failed
    yield Fact(
        "completed",
        message("Checkpoints completed"),
        week.completed / settled if settled else None,
        "share",
        message("of {settled:name}", settled=count_text(settled)),
    )
    of_jobs = message("of {jobs:name}", jobs=count_text(week.jobs))
    yield Fact("troubled", message("Jobs in trouble"), week.troubled, "count", of_jobs)
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
    yield Fact(
        "grown_bytes",
        message("Storage growth"),
        sum(week.grown) if week.grown else None,
        "bytes",
        message("{roots:number} roots", roots=len(week.storage))
        if week.storage
        else message("not audited"),
    )


def _event_sentences(week: Week) -> Iterator[str]:
    for job in week.worst[:MOST_LINES]:
        yield message(
            "{name:name} on {cluster:name}: {reason:name}.",
            name=job.name,
            cluster=job.cluster,
            reason=job.reason,
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


def _costs(week: Week) -> Iterator[str]:
    if settled := week.completed + week.failed:
        yield message(
            "{failed:name} of {settled:name} checkpoints failed.",
            failed=count_text(week.failed),
            settled=count_text(settled),
        )
    if week.grown:
        total = sum(week.grown)
        yield message(
            "Checkpoint storage {words:message} by {abs:name}.",
            words=message("grew") if total >= 0 else message("shrank"),
            abs=bytes_text(abs(total)),
        )
    if orphans := sum(root.get("orphan_bytes") or 0 for root in week.storage):
        yield message("{orphans:name} in it are orphaned.", orphans=bytes_text(orphans))
    if week.open_count:
        yield message(
            "{open_count:name} findings are still open.", open_count=count_text(week.open_count)
        )


def _appendix(week: Week) -> Iterator[Part]:
    counts = message(
        "{began_count:name} began, {ended_count:name} ended, {open_count:name} are open",
        began_count=count_text(week.began_count),
        ended_count=count_text(week.ended_count),
        open_count=count_text(week.open_count),
    )
    began = (presented.finding for presented in week.began[:MOST_ROWS])
    new = (
        (
            row.severity,
            row.title,
            texts.name(row.job_name, row.job_id) or row.cluster,
            row.first_seen,
            row.state == FindingState.OPEN,
        )
        for row in began
    )
    columns: tuple[Column, ...] = (
        Column("severity", message("Severity")),
        Column("finding", message("Finding")),
        Column("where", message("Where")),
        Column("first_seen", message("First seen"), "instant"),
        Column("is_open", message("Still open"), "flag"),
    )
    yield _part("new-findings", message("New findings"), counts, columns, new, week.began_count)
    yield from map(matters.part, week.began[:MOST_IN_FULL])
    completed = Column("completed", message("Completed"), "count")
    failed = Column("failed", message("Failed"), "count")
    days = (Column("day", message("Day"), "instant"), completed, failed)
    yield _part("days", message("Checkpoints by day"), "UTC", days, week.days)
    columns = (
        Column("root", message("Root"), "mono"),
        Column("as_of", message("Audited"), "instant"),
        Column("bytes", message("Bytes"), "bytes"),
        Column("grown", message("Growth"), "bytes"),
        Column("orphan_bytes", message("Orphaned"), "bytes"),
        Column("orphans_grown", message("Growth of orphans"), "bytes"),
        Column("missing_files", message("Missing files"), "count"),
        Column("savepoints", message("Savepoints"), "count"),
        Column("savepoint_bytes", message("Their bytes"), "bytes"),
        Column("oldest", message("Oldest savepoint"), "instant"),
        Column("ended_jobs", message("Ended jobs"), "count"),
        Column("ended_bytes", message("Their checkpoints"), "bytes"),
    )
    kept = message(
        "the largest growth first; savepoints, and checkpoints of ended jobs, are kept until "
        "somebody deletes them"
    )
    rows = (tuple(root.get(column.key) for column in columns) for root in week.storage)
    yield _part("storage", message("Checkpoint storage"), kept, columns, rows)


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


def _sources(now: datetime, left_out: int) -> Part:
    unseen = list(Cluster.objects.unseen(now).order_by("name").values_list("name", flat=True)[:21])
    unknown = []
    if unseen:
        unknown.append(
            message(
                "Not seen when this was made: {join:name}{more:message}. What happened there since "
                "is not known.",
                join=", ".join(unseen[:20]),
                more=message(" and more") if len(unseen) > 20 else "",
            )
        )
    if left_out:
        unknown.append(
            message(
                "{left_out:number} more new findings are left out; the findings page has them.",
                left_out=left_out,
            )
        )
    newest = JobCurrent.objects.aggregate(newest=Max("as_of"))["newest"]
    name = message("Jobs, checkpoints and findings in the database")
    fact = Fact("newest", name, newest, "instant", message("newest observation"))
    return sources.of(
        message("Where its facts come from, and how fresh they were"), [fact], unknown
    )
