from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from ingest.messages import Message, message
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.reasons import reason_sentence
from webapp.fleet.models import JobAnnotation, JobException

MOST_OF_A_KIND = 500
TONES = {"critical": "crit", "warning": "warn"}
"""Severity of a finding or an alert → tone; others have the tone "done"."""
_MARKS = {"restart": "warn", "failure": "crit", "taskmanager_lost": "crit"}
_RANK = {"crit": 3, "warn": 2, "ok": 1, "done": 1}
Jobs = Mapping[tuple[str, str], str]
"""(cluster, job id) → name."""
Span = tuple[datetime, datetime]


@dataclass(frozen=True)
class Moment:
    """``tone`` is crit, warn, ok or done; ``until`` is the end of a longer event."""

    at: datetime
    kind: str
    tone: str
    title: str
    detail: str = ""
    until: datetime | None = None
    job_name: str = ""


def of_jobs(jobs: Jobs, span: Span) -> Iterator[Moment]:
    """Moments of these jobs, not sorted, from the newest ``MOST_OF_A_KIND`` rows of each kind."""
    yield from _checkpoints(jobs, span)
    yield from _annotations(jobs, span)
    yield from _exceptions(jobs, span)


def most_important(moments: Iterable[Moment], most: int) -> tuple[Moment, ...]:
    """The ``most`` most important moments, oldest first."""
    ranked = sorted(moments, key=lambda moment: -_RANK.get(moment.tone, 0))[:most]
    return tuple(sorted(ranked, key=lambda moment: (moment.at, moment.title)))


def _rows_of_jobs(rows: Any, jobs: Jobs) -> Any:
    return rows.filter(
        cluster__in={cluster for cluster, _ in jobs}, job_id__in={job_id for _, job_id in jobs}
    )


def _checkpoints(jobs: Jobs, span: Span) -> Iterator[Moment]:
    in_time = _rows_of_jobs(CheckpointFact.objects.filter(trigger_time__range=span), jobs)
    facts = in_time.filter(outcome__in=FAILED_OUTCOMES) | in_time.filter(is_savepoint=True)
    names = ("cluster", "job_id", "is_savepoint", "outcome", "reason", "checkpoint_id")
    newest_first = facts.order_by("-trigger_time", "-id")
    rows = list(newest_first.values(*names, "trigger_time", "end_time")[:MOST_OF_A_KIND])[::-1]
    rows.sort(key=lambda row: (row["cluster"], row["job_id"]))
    for job, job_rows in groupby(rows, key=lambda row: (row["cluster"], row["job_id"])):
        if job not in jobs:
            continue
        for (is_savepoint, outcome, reason, _), group in groupby(
            job_rows,
            key=lambda row: (
                bool(row["is_savepoint"]),
                row["outcome"],
                row["reason"],
                row["is_savepoint"] and row["checkpoint_id"],
            ),
        ):
            run = list(group)
            first, last = run[0], run[-1]
            word = Message(outcome.replace("_", " "), {})
            if is_savepoint:
                title = message(
                    "Savepoint {checkpoint_id:number} {outcome:name}",
                    checkpoint_id=first["checkpoint_id"],
                    outcome=word,
                )
            elif len(run) == 1:
                title = message(
                    "Checkpoint {checkpoint_id:number} {outcome:name}",
                    checkpoint_id=first["checkpoint_id"],
                    outcome=word,
                )
            else:
                title = message(
                    "{run:number} checkpoints {outcome:name}: {checkpoint_id:number} to "
                    "{checkpoint_id2:number}",
                    run=len(run),
                    outcome=word,
                    checkpoint_id=first["checkpoint_id"],
                    checkpoint_id2=last["checkpoint_id"],
                )
            yield Moment(
                first["end_time"] or first["trigger_time"],
                "savepoint" if is_savepoint else "checkpoint",
                "crit" if outcome in FAILED_OUTCOMES else "done",
                title,
                reason_sentence(reason, ""),
                (last["end_time"] or last["trigger_time"]) if len(run) > 1 else None,
                jobs[job],
            )


def _annotations(jobs: Jobs, span: Span) -> Iterator[Moment]:
    rows = _rows_of_jobs(
        JobAnnotation.objects.filter(at__range=span).exclude(kind="savepoint"), jobs
    )
    for cluster, job_id, at, kind, label, subject in rows.order_by("-at", "-id").values_list(
        "cluster", "job_id", "at", "kind", "label", "subject"
    )[:MOST_OF_A_KIND]:
        if (cluster, job_id) in jobs:
            words, kind_words = label or subject or kind, kind.replace("_", " ")
            if all(word in words.lower() for word in kind_words.split()):
                title = message("{what:opening}", what=words)
            else:
                kind_words = Message(kind_words.capitalize(), {})
                title = message("{kind:name}: {what:text}", kind=kind_words, what=words)
            has_failed = kind == "terminal" and "fail" in words.lower()
            tone = "crit" if has_failed else _MARKS.get(kind, "done")
            yield Moment(at, kind, tone, title, job_name=jobs[cluster, job_id])


def _exceptions(jobs: Jobs, span: Span) -> Iterator[Moment]:
    names = ("cluster", "job_id", "exception_name", "ts", "task", "host")
    rows = _rows_of_jobs(JobException.objects.filter(ts__range=span), jobs).order_by("-ts", "-id")
    exceptions = list(rows.values_list(*names)[:MOST_OF_A_KIND])[::-1]
    exceptions.sort(key=lambda row: row[:2])
    for (cluster, job_id, name), group in groupby(exceptions, key=lambda row: row[:3]):
        if (cluster, job_id) in jobs:
            run = list(group)
            title = (
                message("Exception {name:name}", name=name)
                if len(run) == 1
                else message("{number:count} exceptions {name:name}", number=len(run), name=name)
            )
            place = " · ".join(filter(None, run[0][4:]))
            until = run[-1][3] if len(run) > 1 else None
            yield Moment(run[0][3], "exception", "crit", title, place, until, jobs[cluster, job_id])
