"""What logs and the JobManager said of one job: excerpts, exceptions, marks.

Every query is bounded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import BigIntegerField, Count, Max, Min, Q, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from ingest.messages import message
from webapp.fleet.log_kinds import ROUTINE_KINDS
from webapp.fleet.models import JobAnnotation, JobCurrent, JobException, LogEvent
from webapp.reports import texts
from webapp.reports.document import ChartMark, Exception_, LogExcerpt
from webapp.reports.gathering.scope import ReportScope

MOST_EVENTS = 4_000
OF_A_KIND = 2
"""Excerpts of one kind from one place: the next ones say the same."""
MOST_EXCERPTS = 30
TRACE_LINES = 6
MOST_EXCEPTIONS = 8
MOST_THROWN = 2_000
MOST_MARKS = 200
_BROKE = Q(kind__in=("restart", "failure"))
_TIMES = Coalesce(Cast(KT("detail__count"), BigIntegerField()), 1)
"""A counter that rose by several between two answers left one mark."""
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
"""What a healthy job logs as well, and what the time line says anyway."""
_ELSEWHERE = frozenset(
    {
        "checkpoint_failed",
        "checkpoint_expired",
        "checkpoint_declined",
        "late_message",
        "job_state",
        "job_terminal",
    }
)
"""Checkpoints and states have lines of their own in the time line; as excerpts they stay."""
_LOUD = frozenset({"ERROR", "WARN", "FATAL"})


def excerpts(job: JobCurrent, scope: ReportScope) -> tuple[tuple[LogExcerpt, ...], bool]:
    """The first lines of each kind and place, and whether there were more events than are looked
    at.

    One query.
    """
    logged = LogEvent.objects.filter(
        cluster=job.cluster, job_id=job.job_id, ts__gte=scope.start, ts__lte=scope.end
    )
    columns = (
        "ts",
        "process",
        "level",
        "kind",
        "vertex_name",
        "subtask",
        "host",
        "reason",
        "message",
        "detail",
    )
    events = list(
        logged.exclude(kind__in=_QUIET_KINDS).order_by("ts", "id").only(*columns)[: MOST_EVENTS + 1]
    )
    return _grouped(events[:MOST_EVENTS]), len(events) > MOST_EVENTS


def _grouped(events: Iterable[LogEvent]) -> tuple[LogExcerpt, ...]:
    groups: dict[tuple[str, str, str], list[LogEvent]] = {}
    for event in events:
        groups.setdefault((event.kind, event.reason or "", event.vertex_name or ""), []).append(
            event
        )
    # What is loud comes first where not everything fits.
    ordered = sorted(groups.values(), key=lambda group: (group[0].level not in _LOUD, group[0].ts))
    shown: list[LogExcerpt] = []
    for group in ordered:
        room = min(OF_A_KIND, MOST_EXCERPTS - len(shown))
        chosen = group[:room]
        shown += [
            _excerpt(event, len(group) - len(chosen) if event is chosen[-1] else 0)
            for event in chosen
        ]
        if len(shown) >= MOST_EXCERPTS:
            break
    return tuple(sorted(shown, key=lambda excerpt: excerpt.at))


def _excerpt(event: LogEvent, more: int) -> LogExcerpt:
    vertex = texts.name(event.vertex_name)
    if vertex and event.subtask is not None:
        vertex += f"/{event.subtask}"
    where = " on ".join(filter(None, (vertex, texts.name(event.host))))
    text = texts.bounded(event.message, texts.SENTENCE)
    detail = texts.bounded(
        "\n".join((event.detail or "").splitlines()[:TRACE_LINES]), texts.PARAGRAPH
    )
    return LogExcerpt(
        event.ts,
        texts.name(event.process),
        event.level or "",
        event.kind,
        where,
        f"{text}\n{detail}".strip(),
        more,
    )


def belongs_to_timeline(excerpt: LogExcerpt) -> bool:
    return excerpt.kind not in _ELSEWHERE and (
        excerpt.level in _LOUD or excerpt.kind.startswith(("tm_", "restored", "restore_"))
    )


def exceptions(job: JobCurrent, scope: ReportScope) -> tuple[Exception_, ...]:
    """The newest of each name, those that came most often first, and how many of the name came in
    the time. Two queries.
    """
    thrown = JobException.objects.filter(
        cluster=job.cluster, job_id=job.job_id, ts__gte=scope.start, ts__lte=scope.end
    )
    by_name: dict[str, list[JobException]] = {}
    for row in thrown.order_by("-ts", "-id").defer("taskmanager_id")[:MOST_THROWN]:
        by_name.setdefault(row.exception_name, []).append(row)
    often = sorted(
        by_name.values(), key=lambda rows: (not any(row.is_root for row in rows), -len(rows))
    )[:MOST_EXCEPTIONS]
    counts = dict(
        thrown.filter(exception_name__in=[rows[0].exception_name for rows in often])
        .order_by()
        .values_list("exception_name")
        .annotate(Count("pk"))
    )
    return tuple(
        Exception_(
            rows[0].ts,
            texts.name(rows[0].exception_name),
            texts.name(rows[0].task, message("whole job")),
            texts.name(rows[0].host),
            texts.bounded("\n".join((rows[0].stacktrace or "").splitlines()[:25]), texts.TRACE),
            counts.get(rows[0].exception_name, len(rows)) - 1,
        )
        for rows in often
    )


@dataclass(frozen=True, slots=True)
class MarksOfTime:
    """``marks`` are the newest of ``count``; ``restarts`` and ``signs`` (first and last restart or
    failure) are of all.
    """

    marks: tuple[ChartMark, ...]
    count: int
    restarts: int
    restart_marks: int
    signs: tuple[datetime, ...]


def marks(job: JobCurrent, scope: ReportScope) -> MarksOfTime:
    """Savepoints, restarts, deployments, restores, failures and ends. Two queries."""
    rows = JobAnnotation.objects.filter(
        cluster=job.cluster, job_id=job.job_id, at__gte=scope.start, at__lte=scope.end
    )
    restart = Q(kind="restart")
    of_all = rows.aggregate(
        count=Count("pk"),
        restarts=Sum(_TIMES, filter=restart),
        restart_marks=Count("pk", filter=restart),
        first=Min("at", filter=_BROKE),
        last=Max("at", filter=_BROKE),
    )
    newest: list[tuple[datetime, str, str | None, str]] = list(
        rows.order_by("-at", "-id").values_list("at", "kind", "label", "subject")[:MOST_MARKS]
    )
    return MarksOfTime(
        tuple(
            ChartMark(at, kind, texts.name(label or subject or kind))
            for at, kind, label, subject in reversed(newest)
        ),
        of_all["count"],
        of_all["restarts"] or 0,
        of_all["restart_marks"],
        tuple(at for at in (of_all["first"], of_all["last"]) if at),
    )
