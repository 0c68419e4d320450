"""What Weir works out of the tasks of one job: state, transactions, data in flight, copy, threads; a table each."""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.backend import words as of_backend
from webapp.backend.job_backend import OF_ROCKSDB, job_backend
from webapp.exactly_once import words as of_transactions
from webapp.exactly_once.job_transactions import job_transactions
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.replication.job_replication import job_replication
from webapp.reports import texts
from webapp.reports.document import Table
from webapp.reports.gathering import analysis_tables, busy_vertices, state_expiry
from webapp.reports.gathering.scope import ReportScope
from webapp.threads.job_threads import JobThreads, job_threads

MOST_ROWS = 20


def tables(job: JobCurrent, scope: ReportScope, now: datetime) -> Iterator[Table]:
    """Those that have something to say, as of the end of the time."""
    at = min(scope.end, job.last_seen_at or job.as_of)
    yield from _backend(job, at)
    yield from state_expiry.tables(job)
    yield from _transactions(job, scope)
    yield from analysis_tables.tables(job, scope.start, at, now)
    yield from _replication(job, now)
    dumped = job_threads(job, at, now)
    yield from busy_vertices.tables(job, scope, dumped)
    yield from _threads(scope, dumped)


def _backend(job: JobCurrent, at: datetime) -> Iterator[Table]:
    found = job_backend(job, at)
    of_rocksdb = found.having(OF_ROCKSDB)
    if not of_rocksdb:
        return
    rows = [
        (
            texts.name(one.name),
            message("{stalled:number} of {samples:number}", stalled=one.stalled, samples=one.samples) if one.samples else "unknown",
            _known(one.newest["level0_files"]),
            bytes_text(one.newest["memtable_bytes"]),
            bytes_text(one.newest["sst_bytes"]),
        )
        for one in of_rocksdb[:MOST_ROWS]
    ]
    columns = (
        message("Vertex"),
        message("Samples with a stall"),
        message("Files in level 0"),
        message("Write buffers"),
        message("Files on disk"),
    )
    yield Table(message("State backend"), columns, tuple(rows), (2, 3, 4), texts.bounded(of_backend.verdict(found).word))


def _transactions(job: JobCurrent, scope: ReportScope) -> Iterator[Table]:
    found = job_transactions(job, scope.end, scope.start)
    sinks = found.of_sinks
    if sinks.timeout_ms is None and not sinks.lost and not found.committers:
        return
    rows = (
        ("Time-out", duration_text(sinks.timeout_ms)),
        (message("Longest that one was open"), duration_text(sinks.open_ms)),
        (message("Longest restart"), duration_text(sinks.restart_ms)),
        (message("Logged as lost"), count_text(len(sinks.lost))),
    )
    yield Table(message("Exactly-once"), (message("Of a transaction"), message("Time")), rows, (1,), of_transactions.verdict(found).word)


_COPY_WORDS = {
    "no copy yet": message("There is no copy yet"),
    "last try failed": message("The last try failed"),
    "complete": message("The copy is complete"),
    "stopped": message("Copying is stopped"),
}


def _replication(job: JobCurrent, now: datetime) -> Iterator[Table]:
    found = job_replication(job, now)
    if found is None:
        return
    copy = found.replica
    rows = (
        ("State", _COPY_WORDS.get(found.badge.english, found.badge.english)),
        (message("Behind its origin"), duration_text(found.lag_ms)),
        ("Checkpoint", _known(copy.checkpoint_id)),
        (message("Restore from"), texts.bounded(copy.location or "–")),
    )
    note = texts.bounded(message("The last try failed: {trouble:text}", trouble=str(copy.trouble))) if copy.trouble else ""
    yield Table(message("Copy of its checkpoints"), (message("As of the report"), ""), rows, (), note)


def _threads(scope: ReportScope, dumped: JobThreads) -> Iterator[Table]:
    """Of dumps that were taken in the time of the report."""
    rows = []
    for one in dumped.taskmanagers:
        if one.row and one.row.taken_at and scope.start <= one.row.taken_at <= scope.end:
            rows += [(texts.name(task.thread.name), texts.bounded(task.does), str(task.in_a_row)) for task in one.of_job]
    if rows:
        left_out = message("{rows:count} more are on the page Threads.", rows=len(rows) - MOST_ROWS) if len(rows) > MOST_ROWS else ""
        yield Table(
            message("Threads"), (message("Task"), message("Does"), message("Dumps in a row")), tuple(rows[:MOST_ROWS]), (2,), left_out
        )


def _known(value: int | None) -> str:
    return "–" if value is None else count_text(value)
