"""What happened on a host across all jobs, in order: what is reported of it, findings that name it,
jobs that came and left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext

from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from spark_jobs.fold.taskmanager_lives import reason_of
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.hosts.lives import jobs_that_lost
from webapp.hosts.lookup import HostJob, called, jobs_called
from webapp.hosts.models import HostEvent, TaskManagerLife
from webapp.lib.instants import epoch_ms
from webapp.lib.messages.rendering import localised

MOST_MOMENTS = 200
SEVERE = {"critical": "crit", "warning": "warn"}


@dataclass(frozen=True)
class Moment:
    """``jobs``: (cluster, id, name) of those that it concerns; ``trigger_ms``: of the checkpoint of
    the first of them.
    """

    at: datetime
    tone: str
    title: str
    detail: str = ""
    jobs: tuple[tuple[str, str, str], ...] = ()
    taskmanager_id: str = ""
    checkpoint_id: int | None = None
    trigger_ms: int | None = None
    finding: int | None = None


@dataclass(frozen=True)
class HostTimeline:
    """Newest first; ``left_out`` of the oldest did not fit."""

    moments: Sequence[Moment]
    left_out: bool = False


def timeline(
    events: QuerySet[HostEvent],
    losses: QuerySet[TaskManagerLife],
    jobs: Iterable[HostJob],
    findings: Iterable[Finding],
    start: datetime,
    end: datetime,
    kind: str | None,
) -> HostTimeline:
    """``events``, ``losses``: of the host; ``kind``: only what happened of this kind. Four queries
    at most.
    """
    rows = list(
        events.filter(at__gte=start, at__lte=end).order_by("-at", "-id")[: MOST_MOMENTS + 1]
    )
    newest = list(losses.order_by("-ended_at", "-id")[: MOST_MOMENTS + 1])
    lost = list(jobs_that_lost(newest)) if kind in (None, TASKMANAGER_LOST) else []
    known = jobs_called(
        {(row.cluster, row.job_id) for row in rows} | {job for _, jobs in lost for job in jobs}
    )
    moments = [*_happened(rows, known), *_losses(lost, known)]
    if not kind:
        moments += [*_findings(findings), *_moves(jobs)]
    # Of what is older than the oldest event that was read, the events are missing.
    since = rows[MOST_MOMENTS].at if len(rows) > MOST_MOMENTS else start
    within = sorted(
        (moment for moment in moments if since <= moment.at <= end),
        key=lambda moment: (moment.at, moment.title),
        reverse=True,
    )
    return HostTimeline(
        within[:MOST_MOMENTS], len(rows) > MOST_MOMENTS or len(within) > MOST_MOMENTS
    )


def _happened(
    rows: Sequence[HostEvent], known: Mapping[tuple[str, str], JobCurrent]
) -> Iterator[Moment]:
    for event in rows:
        triggered = epoch_ms(event.trigger_time) if event.trigger_time else None
        title, detail = _words(event)
        yield Moment(
            event.at,
            "warn" if event.kind == "expired" else "crit",
            title,
            detail,
            ((event.cluster, event.job_id, called(known, event)),),
            event.taskmanager_id or "",
            event.checkpoint_id,
            triggered,
        )


def _losses(
    lost: Iterable[tuple[TaskManagerLife, list[tuple[str, str]]]],
    known: Mapping[tuple[str, str], JobCurrent],
) -> Iterator[Moment]:
    for life, jobs in lost:
        if life.ended_at is not None:
            yield Moment(
                life.ended_at,
                "crit",
                gettext("TaskManager %(subject)s lost") % {"subject": life.taskmanager_id},
                localised(reason_of(vars(life))),
                tuple((*job, (known[job].name if job in known else "") or job[1]) for job in jobs),
                life.taskmanager_id,
            )


def _words(row: HostEvent) -> tuple[str, str]:
    task = (
        f"{row.vertex_name or gettext('a task')}{'' if row.subtask is None else f'/{row.subtask}'}"
    )
    detail = row.detail or ""
    if row.kind == "decline":
        if row.checkpoint_id is None:
            return gettext("A checkpoint was declined by %(task)s") % {"task": task}, detail
        return gettext("Checkpoint %(checkpoint_id)s declined by %(task)s") % {
            "checkpoint_id": row.checkpoint_id,
            "task": task,
        }, detail
    if row.kind == "expired":
        return (
            gettext("Checkpoint %(checkpoint_id)s expired") % {"checkpoint_id": row.checkpoint_id}
            if row.checkpoint_id is not None
            else gettext("A checkpoint expired"),
            gettext("subtasks here had not acknowledged: %(vertex_name)s")
            % {"vertex_name": row.vertex_name}
            if row.vertex_name
            else "",
        )
    if row.kind == "failure":
        return gettext("Task failed: %(subject)s") % {"subject": row.subject}, detail
    return f"{row.kind.replace('_', ' ').capitalize()}: {row.subject}", detail


def _findings(findings: Iterable[Finding]) -> Iterator[Moment]:
    for finding in findings:
        jobs = (
            ((finding.cluster, finding.job_id, finding.job_name or finding.job_id),)
            if finding.job_id
            else ()
        )
        yield Moment(
            finding.first_seen,
            SEVERE.get(finding.severity, "done"),
            gettext("Found: %(title)s") % {"title": localised(finding.title)},
            finding.rule,
            jobs,
            finding=finding.pk,
        )
        if finding.closed_at is not None:
            yield Moment(
                finding.closed_at,
                "ok",
                gettext("No longer found: %(title)s") % {"title": localised(finding.title)},
                finding.rule,
                jobs,
                finding=finding.pk,
            )


def _moves(jobs: Iterable[HostJob]) -> Iterator[Moment]:
    for job in jobs:
        key = ((job.row.cluster, job.row.job_id, job.called),)
        yield Moment(
            job.row.first_seen_at, "done", gettext("A job was first seen to run here"), "", key
        )
        if job.row.left_at is not None:
            yield Moment(job.row.left_at, "done", gettext("A job no longer runs here"), "", key)
