"""What Weir works out of one job beside its rows: placement, file system calls, recovery; a sentence and a bounded table each."""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.filesystem_calls import words as of_calls
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import count_text
from webapp.placement import words as of_placement
from webapp.placement.job_placement import NOW
from webapp.placement.lookup import look_up_placement
from webapp.reports.document import Table
from webapp.reports.gathering import work_tables
from webapp.reports.gathering.scope import ReportScope

MOST_JOBS = 10
"""Each reads the lake and the storage: seconds for a large job."""


def tables(job: JobCurrent, scope: ReportScope, now: datetime) -> tuple[Table, ...]:
    """Those that have something to say: of the end of the time, calls by what was read of its checkpoints since."""
    if len(scope.jobs) > MOST_JOBS:
        return ()
    return (*_placement(job, scope.end), *_calls(job, now), *work_tables.tables(job, scope, now))


def _placement(job: JobCurrent, at: datetime) -> Iterator[Table]:
    found = look_up_placement(job, at)
    now = found.outcome(NOW) if found else None
    if found is None or now is None or len(now.tasks) < 2:
        return
    rows = [
        (
            of_placement.LABELS[one.key],
            count_text(one.tasks[0]),
            "–" if one.max_over_mean is None else f"{one.max_over_mean:.2f}",
            "–" if one.busy_max is None else f"{one.busy_max:.1f}",
            f"{one.buffers_least:,}–{one.buffers_most:,}",
            count_text(one.moved),
        )
        for one in found.outcomes
    ]
    columns = (
        message("Placement"),
        message("Tasks of the fullest TaskManager"),
        message("Over the mean"),
        message("Busy threads at most"),
        message("Network buffers of one"),
        message("Subtasks moved"),
    )
    yield Table(message("Placement"), columns, tuple(rows), (1, 2, 3, 4, 5), of_placement.verdict(found).sentence)


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
