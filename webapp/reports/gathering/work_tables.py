"""What Weir works out of one job beside its rows: what its analyses found, its copy, its threads; a
table each.
"""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import count_text, duration_text
from webapp.profiles.job_threads import JobThreads, job_threads
from webapp.replication.job_replication import job_replication
from webapp.reports import texts
from webapp.reports.document import Table
from webapp.reports.gathering import analysis_tables, busy_vertices
from webapp.reports.gathering.scope import ReportScope

MOST_JOBS, MOST_ROWS = 10, 20
"""Each job reads the lake and the storage: seconds for a large one."""


def tables(job: JobCurrent, scope: ReportScope, now: datetime) -> Iterator[Table]:
    """Those that have something to say, as of the end of the time."""
    if len(scope.jobs) > MOST_JOBS:
        return
    at = min(scope.end, job.last_seen_at or job.as_of)
    yield from analysis_tables.tables(job, scope.start, at, now)
    yield from _replication(job, now)
    dumped = job_threads(job, at, now)
    yield from busy_vertices.tables(job, scope, dumped)
    yield from _threads(scope, dumped)


_COPY_WORDS = {
    "no copy yet": message("There is no copy yet"),
    "last try failed": message("The last attempt failed"),
    "complete": message("The copy is complete"),
    "stopped": message("Copying is stopped"),
}


def _replication(job: JobCurrent, now: datetime) -> Iterator[Table]:
    replication = job_replication(job, now)
    if replication is None:
        return
    copy = replication.replica
    rows = (
        ("State", _COPY_WORDS.get(replication.badge.english, replication.badge.english)),
        (message("Behind its origin"), duration_text(replication.lag_ms)),
        ("Checkpoint", _known(copy.checkpoint_id)),
        (message("Restore from"), texts.bounded(copy.location or "–")),
    )
    note = (
        texts.bounded(message("The last attempt failed: {trouble:text}", trouble=str(copy.trouble)))
        if copy.trouble
        else ""
    )
    yield Table(
        message("Copy of its checkpoints"), (message("As of the report"), ""), rows, (), note
    )


def _threads(scope: ReportScope, dumped: JobThreads) -> Iterator[Table]:
    """Of dumps that were taken in the time of the report."""
    rows = []
    for taskmanager in dumped.taskmanagers:
        if (
            taskmanager.row
            and taskmanager.row.taken_at
            and scope.start <= taskmanager.row.taken_at <= scope.end
        ):
            rows += [
                (texts.name(task.thread.name), texts.bounded(task.does), str(task.in_a_row))
                for task in taskmanager.of_job
            ]
    if rows:
        left_out = (
            message("{rows:count} more are on the page Threads.", rows=len(rows) - MOST_ROWS)
            if len(rows) > MOST_ROWS
            else ""
        )
        yield Table(
            message("Threads"),
            (message("Task"), message("Does"), message("Dumps in a row")),
            tuple(rows[:MOST_ROWS]),
            (2,),
            left_out,
        )


def _known(value: int | None) -> str:
    return "–" if value is None else count_text(value)
