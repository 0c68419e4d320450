"""What Weir works out of one job beside its rows: file system calls, recovery; a sentence and a bounded table each."""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.filesystem_calls import words as of_calls
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.fleet.models import JobCurrent
from webapp.reports.document import Table
from webapp.reports.gathering import work_tables
from webapp.reports.gathering.scope import ReportScope

MOST_JOBS = 10
"""Each reads the lake and the storage: seconds for a large job."""


def tables(job: JobCurrent, scope: ReportScope, now: datetime) -> tuple[Table, ...]:
    """Those that have something to say: of the end of the time, calls by what was read of its checkpoints since."""
    if len(scope.jobs) > MOST_JOBS:
        return ()
    return (*_calls(job, now), *work_tables.tables(job, scope, now))


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
