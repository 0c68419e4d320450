from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime

from django.urls import reverse

from ingest.messages import Message, message
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Table,
    Unit,
    Verdict,
)
from webapp.analyses.registry import all_analyses
from webapp.checkpoints import querysets as facts_of
from webapp.fleet.models import JobCurrent
from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.profiles.models import ThreadDump
from webapp.reports import texts
from webapp.reports.document import Part
from webapp.reports.gathering.job_figures import JobFigures
from webapp.reports.report_scope import ReportScope

MOST_ANALYSED = 10
"""With more jobs, none is analysed: a large job takes seconds."""
MOST_ROWS, TRACE_LINES = 20, 25
ALWAYS = ("starts", "threads")
"""Analyses that are reported even if they found no problem."""
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
    tables = (_exceptions(figures), _checkpoints(job, scope))
    facts = Facts(tuple(_facts(figures)))
    blocks: list[Block] = [facts, *(table for table in tables if table.rows)]
    yield Part(
        f"job-{job.job_id}",
        figures.name,
        Document(_verdict(figures), tuple(blocks)),
        reverse("job", args=job.key),
    )
    if len(scope.jobs) <= MOST_ANALYSED:
        yield from _analyse(figures, scope, now)


def _analyse(figures: JobFigures, scope: ReportScope, now: datetime) -> Iterator[Part]:
    job = figures.job
    inputs = Inputs(scope.start, min(scope.end, job.last_seen_at or job.as_of), now)
    has_dumps = ThreadDump.objects.filter(
        cluster=job.cluster, taken_at__range=(scope.start, scope.end)
    ).exists()
    for name, analysis in all_analyses().items():
        if not (analysis.in_report or (name == "threads" and has_dumps)):
            continue
        document = analysis.answer(job, inputs)
        has_trouble = document.verdict.tone in ("warn", "crit")
        if has_trouble or (name in ALWAYS and document.verdict.tone != "unknown"):
            blocks = (
                first_rows(block) if isinstance(block, Table) else block
                for block in document.blocks
            )
            yield Part(
                f"{name}-{job.job_id}",
                message("{title:name} of {name:name}", title=analysis.title, name=figures.name),
                Document(document.verdict, tuple(blocks)),
                reverse(name, args=job.key),
            )


def first_rows(table: Table) -> Table:
    return replace(table, rows=table.rows[:MOST_ROWS], total=table.total or len(table.rows))


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


def _facts(figures: JobFigures) -> Iterator[Fact]:
    job = figures.job
    yield Fact("started_at", "Started", job.start_time, "instant")
    if job.end_time:
        yield Fact("ended_at", "Ended", job.end_time, "instant")
    else:
        yield Fact("last_seen_at", "Last seen", job.last_seen_at, "instant")
    if job.restored_at:
        number = "" if job.restored_checkpoint_id is None else f" {job.restored_checkpoint_id}"
        restored = f"{job.restored_kind}{number}, {job.restored_path or ''}".rstrip(", ")
        yield Fact("restored_from", "Restored from", restored, "mono")
    yield Fact("interval_ms", "Checkpoint interval", figures.interval_ms, "ms")


def _exceptions(figures: JobFigures) -> Table:
    return Table(
        "exceptions",
        "Exceptions",
        (
            Column("at", "At", "instant"),
            Column("name", "Exception", "mono"),
            Column("task", "Task"),
            Column("host", "Host"),
            Column("count", "In this time", "count"),
            Column("stacktrace", "Stack trace", "stack"),
        ),
        tuple(
            (
                thrown.newest.ts,
                texts.name(thrown.newest.exception_name),
                texts.name(thrown.newest.task, message("whole job")),
                texts.name(thrown.newest.host),
                thrown.count,
                "\n".join((thrown.newest.stacktrace or "").splitlines()[:TRACE_LINES]),
            )
            for thrown in figures.thrown
        ),
    )


def _checkpoints(job: JobCurrent, scope: ReportScope) -> Table:
    facts = facts_of.of_job(*job.key, scope.start, scope.end)
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
            titles.get(name)
            or Message(name.removesuffix("_ms").removeprefix("is_").replace("_", " "), {}),
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
        "Checkpoints",
        tuple(columns),
        rows,
        subtitle=subtitle if total > len(rows) else "",
        total=total,
    )
