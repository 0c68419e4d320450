"""One job in the appendix of a report: its facts, tables and analyses."""

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime

from django.db.models import Max
from django.urls import reverse

from ingest.messages import Message, message
from ingest.uris import BadUri
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    NotKnown,
    Table,
    Unit,
    Value,
    Verdict,
)
from webapp.analyses.job.starts import PHASES
from webapp.analyses.registry import all_analyses
from webapp.checkpoints import querysets as facts_of
from webapp.cleanup.missing_files.causes import LABELS, VERDICTS
from webapp.cleanup.missing_files.missing_file import triage
from webapp.findings.models import Finding
from webapp.fleet.log_kinds import ROUTINE_KINDS
from webapp.fleet.models import JobCurrent, LogEvent
from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.lib.outage import PARTS
from webapp.pressure.models import PressureWindow
from webapp.profiles.models import ThreadDump
from webapp.reports import texts
from webapp.reports.document import Part
from webapp.reports.gathering.job_figures import TRACE_LINES, JobFigures, outcome_words
from webapp.reports.report_scope import ReportScope

MOST_ANALYSED = 10
"""Jobs: each analysis reads the lake and the storage, seconds for a large job."""
MOST_ROWS = 20
ALWAYS = ("starts", "threads")
"""Reported also without problems: when it was deployed, and what its threads did."""
MOST_EVENTS, OF_A_KIND, MOST_EXCERPTS = 4_000, 2, 30
MISSING_FILE, MOST_FILES = "restore.missing_file", 3
_QUIET_KINDS = (
    *ROUTINE_KINDS,
    "checkpoint_triggered",
    "checkpoint_completed",
    "tm_registered",
    "execution_graph_created",
    "late_decline",
    "job_submitted",
    "job_started",
    "job_terminal",
    "coordinator_stopped",
    "scheduler_started",
    "scheduler_stopped",
    "job_archived",
)
"""Lines that healthy jobs also log, and events that the time line has anyway."""
_LOUD = frozenset({"ERROR", "WARN", "FATAL"})
_UNITS: dict[str, Unit] = {
    "checkpoint_id": "checkpoint",
    "trigger_time": "instant",
    "end_time": "instant",
    "is_savepoint": "flag",
    "unaligned": "flag",
    "state_bytes": "bytes",
    "checkpointed_bytes": "bytes",
}


def parts(figures: JobFigures, scope: ReportScope, now: datetime) -> Iterator[Part]:
    job = figures.job
    yield Part(
        f"job-{job.job_id}",
        figures.name,
        Document(_verdict(figures), tuple(_blocks(figures, scope))),
        reverse("job", args=(job.cluster, job.job_id)),
    )
    if len(scope.jobs) <= MOST_ANALYSED:
        yield from _analyse(figures, scope, now)


def _analyse(figures: JobFigures, scope: ReportScope, now: datetime) -> Iterator[Part]:
    job = figures.job
    inputs = Inputs(scope.start, min(scope.end, job.last_seen_at or job.as_of), now)
    in_time = (scope.start, scope.end)
    dumped = ThreadDump.objects.filter(cluster=job.cluster, taken_at__range=in_time).exists()
    for name, analysis in all_analyses().items():
        if not (analysis.in_report or (name == "threads" and dumped)):
            continue
        document = analysis.answer(job, inputs)
        has_trouble = document.verdict.tone in ("warn", "crit")
        if has_trouble or (name in ALWAYS and document.verdict.tone != "unknown"):
            yield Part(
                f"{name}-{job.job_id}",
                message("{title:name} of {name:name}", title=analysis.title, name=figures.name),
                Document(document.verdict, tuple(map(_shorten, document.blocks))),
                reverse(name, args=(job.cluster, job.job_id)),
            )


def _shorten(block: Block) -> Block:
    return first_rows(block) if isinstance(block, Table) else block


def first_rows(table: Table, most: int = MOST_ROWS) -> Table:
    total = table.total or len(table.rows)
    values = {field.name: getattr(table, field.name) for field in fields(table)}
    return Table(**values | {"rows": table.rows[:most], "total": total})


def _verdict(figures: JobFigures) -> Verdict:
    job = figures.job
    state = Message(job.state.lower().replace("_", " "), {}) if job.state else message("unknown")
    return Verdict(
        "crit" if figures.has_failed else "done",
        message(
            "{job_id:name} on {cluster:name}, Flink {version:name}, {state:name}",
            job_id=job.job_id,
            cluster=job.cluster,
            version=job.flink_version or "–",
            state=state,
        ),
    )


def _blocks(figures: JobFigures, scope: ReportScope) -> Iterator[Block]:
    job = figures.job
    yield Facts(tuple(_facts(figures)))
    if figures.outages:
        yield _outages(figures)
    for table in (
        _exceptions(figures),
        _missing_files(job, scope),
        _checkpoints(job, scope),
        _pressure(job, scope),
        _logs(job, scope),
    ):
        if table.rows:
            yield table
        elif table.empty:
            yield NotKnown(table.empty)


def _facts(figures: JobFigures) -> Iterator[Fact]:
    job, checkpoints = figures.job, figures.checkpoints
    yield Fact("cluster", message("Cluster"), job.cluster)
    yield Fact("is_recording", message("A recording"), figures.is_recording, "flag")
    yield Fact("parallelism", message("Parallelism"), job.parallelism, "count")
    yield Fact("started_at", message("Started"), job.start_time, "instant")
    if job.end_time:
        yield Fact("ended_at", message("Ended"), job.end_time, "instant")
    else:
        yield Fact("last_seen_at", message("Last seen"), job.last_seen_at, "instant")
    if job.restored_at:
        number = "" if job.restored_checkpoint_id is None else f" {job.restored_checkpoint_id}"
        restored = f"{job.restored_kind}{number}, {job.restored_path or ''}".rstrip(", ")
        yield Fact("restored_from", message("Restored from"), restored, "mono")
    yield Fact("restarts", message("Restarts"), figures.restarts, "count", message("in this time"))
    for outcome, count in checkpoints.by_outcome.items():
        words = outcome_words(outcome)
        yield Fact(outcome, message("Checkpoints {outcome:name}", outcome=words), count, "count")
    yield Fact("savepoints", message("Savepoints"), checkpoints.savepoints, "count")
    yield Fact("interval_ms", message("Checkpoint interval"), figures.interval_ms, "ms")
    yield Fact("timeout_ms", message("Checkpoint time-out"), job.checkpoint_timeout_ms, "ms")
    longest = message("Longest without recovery point")
    yield Fact("longest_gap_ms", longest, checkpoints.longest_gap_ms, "ms")
    yield Fact(
        "uploaded_bytes",
        message("Uploaded"),
        checkpoints.uploaded_bytes,
        "bytes",
        message("by completed ones"),
    )
    wasted = message("of {count:count} more it is not known", count=checkpoints.wasted_unknown)
    yield Fact(
        "wasted_bytes",
        message("Uploaded for failed ones"),
        checkpoints.wasted_bytes,
        "bytes",
        wasted if checkpoints.wasted_unknown else "",
    )
    yield Fact("judged_at", message("Judged up to"), job.judged_at, "instant")


def _word(code: str) -> str:
    return Message(code.replace("_", " "), {})


def _outages(figures: JobFigures) -> Table:
    had = [name for name in PARTS if any(name in dict(outage.parts) for outage in figures.outages)]
    return Table(
        "outages",
        message("Outages"),
        (
            Column("at", message("Began"), "instant"),
            Column("downtime_ms", message("Down"), "ms"),
            Column("at_least_ms", message("At least"), "ms"),
            Column("restarts", message("Restarts"), "count"),
            *(Column(f"{name}_ms", *PHASES.get(name, (_word(name), ""))[:1], "ms") for name in had),
            Column("restored", message("Restored"), "checkpoint"),
            Column("reprocessed_ms", message("Processed again"), "ms"),
        ),
        tuple(
            (
                outage.at,
                outage.downtime_ms,
                outage.at_least_ms,
                outage.restarts,
                *(outage.part_ms[name] for name in had),
                outage.restored_id,
                outage.reprocessed_ms,
            )
            for outage in figures.outages
        ),
        subtitle=message("from a restart until all tasks ran again"),
    )


def _exceptions(figures: JobFigures) -> Table:
    return Table(
        "exceptions",
        message("Exceptions"),
        (
            Column("at", message("At"), "instant"),
            Column("name", message("Exception"), "mono"),
            Column("task", message("Task")),
            Column("host", message("Host")),
            Column("count", message("In this time"), "count"),
            Column("stacktrace", message("Stack trace"), "stack"),
        ),
        tuple(
            (
                thrown.newest.ts,
                texts.name(thrown.newest.exception_name),
                texts.name(thrown.newest.task, message("whole job")),
                texts.name(thrown.newest.host),
                thrown.count,
                _first_lines(thrown.newest.stacktrace, TRACE_LINES),
            )
            for thrown in figures.thrown
        ),
    )


def _first_lines(text: str | None, most: int) -> str:
    return "\n".join((text or "").splitlines()[:most])


def _missing_files(job: JobCurrent, scope: ReportScope) -> Table:
    """Files that restores did not find, each with what may have deleted it. One query if there are
    none; else each searches lists of audits.
    """
    findings = Finding.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        rule=MISSING_FILE,
        first_seen__lte=scope.end,
        last_seen__gte=scope.start,
    )
    paths = [
        file["path"]
        for data in findings.order_by("-last_seen").values_list("data", flat=True)[:MOST_FILES]
        for file in data.get("files") or ()
    ]
    return Table(
        "missing-files",
        message("Missing files"),
        (
            Column("path", message("File"), "mono"),
            Column("owner", message("In the directory of")),
            Column("snapshots", message("Snapshots"), "count", message("that need it")),
            Column("last_listed", message("Last listed"), "instant"),
            Column("gone_by", message("Gone by"), "instant"),
            Column("cause", message("What may have deleted it")),
            Column("verdict", message("Verdict")),
            Column("because", message("Why")),
        ),
        tuple(row for path in list(dict.fromkeys(paths))[:MOST_FILES] for row in _missing(path)),
    )


def _missing(path: str) -> Iterator[tuple[Value, ...]]:
    try:
        found = triage(path)
    except BadUri:
        return
    about = (
        found.path,
        texts.name(found.owner.name if found.owner else None, found.owner_id)
        if found.owner_id
        else None,
        len(found.referrers) + found.more_referrers,
        found.seen.as_of if found.seen else None,
        found.gone_by,
    )
    for cause in found.causes:
        yield *about, LABELS[cause.key], VERDICTS[cause.verdict].english, str(cause.because)
    if not found.causes:
        yield *about, None, None, found.summary.english


def _checkpoints(job: JobCurrent, scope: ReportScope) -> Table:
    facts = facts_of.of_job(job.cluster, job.job_id, scope.start, scope.end)
    bars, total = facts_of.bars(facts, job.cluster, scope.points_a_job)
    names = [field.name for field in fields(CheckpointPoint)]
    titles = {
        "checkpoint_id": message("Checkpoint"),
        "trigger_time": message("Triggered"),
        "outcome": message("Outcome"),
        "end_to_end_ms": message("Duration"),
        "slowest": message("Slowest"),
        "state_bytes": message("State"),
        "checkpointed_bytes": message("Uploaded"),
        "reason": message("Reason"),
    }
    columns = (
        Column(
            name,
            titles.get(name) or _word(name.removesuffix("_ms").removeprefix("is_")),
            "ms" if name.endswith("_ms") else _UNITS.get(name, "text"),
        )
        for name in names
    )
    rows = tuple(
        tuple(texts.name(value) if isinstance(value, str) else value for value in values)
        for values in (tuple(getattr(bar, name) for name in names) for bar in bars)
    )
    subtitle = message("the worst of each slice of time")
    return Table(
        "checkpoints",
        message("Checkpoints"),
        tuple(columns),
        rows,
        subtitle=subtitle if total > len(rows) else "",
        total=total,
    )


def _pressure(job: JobCurrent, scope: ReportScope) -> Table:
    """One query."""
    windows = PressureWindow.objects.filter(
        cluster=job.cluster, job_id=job.job_id, window_start__range=(scope.start, scope.end)
    )
    worst = (
        windows.order_by()
        .values("vertex_id")
        .annotate(
            name=Max("vertex_name"),
            held=Max("backpressured_ms_per_s_p50"),
            busy=Max("busy_ms_per_s_p50"),
        )
    )
    measured = [row for row in worst if row["held"] is not None or row["busy"] is not None]
    measured.sort(key=lambda row: -max(row["held"] or 0, row["busy"] or 0))
    return Table(
        "pressure",
        message("Pressure"),
        (
            Column("vertex", message("Vertex")),
            Column("backpressured", message("Back-pressured"), "share"),
            Column("busy", message("Busy"), "share"),
        ),
        tuple(
            (texts.name(row["name"], row["vertex_id"]), _share(row["held"]), _share(row["busy"]))
            for row in measured[:MOST_ROWS]
        ),
        subtitle=message("the largest share of a second, of the median subtask"),
        empty=message("No pressure was measured in this time."),
        total=len(measured),
    )


def _share(ms_per_s: float | None) -> float | None:
    return None if ms_per_s is None else min(max(ms_per_s / 1000, 0.0), 1.0)


def _logs(job: JobCurrent, scope: ReportScope) -> Table:
    logged = LogEvent.objects.filter(
        cluster=job.cluster, job_id=job.job_id, ts__range=(scope.start, scope.end)
    )
    groups: dict[tuple[str, str, str], list[LogEvent]] = {}
    for event in logged.exclude(kind__in=_QUIET_KINDS).order_by("ts", "id")[:MOST_EVENTS]:
        key = event.kind, event.reason or "", event.vertex_name or ""
        groups.setdefault(key, []).append(event)
    loud_first = sorted(groups.values(), key=lambda group: group[0].level not in _LOUD)
    shown = [(event, len(group)) for group in loud_first for event in group[:OF_A_KIND]]
    return Table(
        "logs",
        message("Log excerpts"),
        (
            Column("at", message("At"), "instant"),
            Column("level", message("Level")),
            Column("kind", message("Kind")),
            Column("where", message("Where")),
            Column("text", message("Line"), "mono"),
            Column("detail", message("Detail"), "stack"),
            Column("count", message("Like it"), "count", message("of this kind and place")),
        ),
        tuple(
            (
                event.ts,
                event.level,
                _word(event.kind),
                _where(event),
                texts.bounded(event.message or "", texts.SENTENCE),
                _first_lines(event.detail, 6),
                count,
            )
            for event, count in sorted(shown[:MOST_EXCERPTS], key=lambda pair: pair[0].ts)
        ),
        subtitle=message("secrets removed"),
        empty=message("No notable log event was read in this time."),
        total=sum(map(len, groups.values())),
    )


def _where(event: LogEvent) -> str:
    subtask = "" if event.subtask is None else f"/{event.subtask}"
    vertex = f"{texts.name(event.vertex_name)}{subtask}" if event.vertex_name else ""
    return " · ".join(filter(None, (vertex, texts.name(event.host), texts.name(event.process))))
