"""What Weir works out of one job beside its rows: file system calls, recovery; a sentence and a bounded table each."""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.filesystem_calls import words as of_calls
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.fleet.models import JobCurrent
from webapp.reports.document import Table
from webapp.reports.gathering import recovery_tables, start_tables, work_tables
from webapp.reports.gathering.scope import ReportScope
from webapp.starts.job_starts import JobStarts

MOST_JOBS = 10
"""Each reads the lake and the storage: seconds for a large job."""


def tables(job: JobCurrent, scope: ReportScope, now: datetime, found: JobStarts) -> tuple[Table, ...]:
    """Those that have something to say: of the end of the time, calls by what was read of its checkpoints since."""
    if len(scope.jobs) > MOST_JOBS:
        return ()
    recovery = recovery_tables.tables(job, min(scope.end, job.last_seen_at or job.as_of))
    starts = start_tables.tables(job, scope, found)
    return (*_calls(job, now), *starts, *recovery, *work_tables.tables(job, scope, now))


def _calls(job: JobCurrent, at: datetime) -> Iterator[Table]:
    calls = look_up_calls(job, at).calls
    if calls is not None:
        rows = tuple((kind, count) for kind, count, _meaning in of_calls.rows(calls) if count != "0")
        yield Table(
            message("File system calls"),
            (message("Call to the NameNode"), message("By one checkpoint")),
            rows,
            (1,),
            of_calls.sentence(calls),
        )
