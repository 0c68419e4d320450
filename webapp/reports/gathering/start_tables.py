"""What the deployments of one job cost, a table each: what slow tasks did, calls that timed out, second by second, and jars."""

from collections.abc import Iterator

from ingest.messages import message
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import day_and_clock_text
from webapp.lib.quantities import UNKNOWN, count_text, duration_text
from webapp.reports import texts
from webapp.reports.document import Table
from webapp.reports.gathering.scope import ReportScope
from webapp.starts import words
from webapp.starts.jar_downloads import jar_downloads
from webapp.starts.job_starts import JobStarts, threads_of
from webapp.starts.parameters import LINK_MBIT_PER_S
from webapp.starts.rpc_troubles import rpc_troubles

MOST_ROWS = 12


def tables(job: JobCurrent, scope: ReportScope, found: JobStarts) -> Iterator[Table]:
    """Those that have something to say; calls of the last hour of the time."""
    if slow := threads_of(job, found):
        did = [
            (f"{texts.name(one.vertex)}/{one.subtask}", duration_text(one.after_ms), texts.name(one.sentence)) for one in slow[:MOST_ROWS]
        ]
        about = message("Their threads, dumped while the newest start was under way.")
        yield Table(
            message("What slow tasks did"), (message("Task"), message("After its deployment"), message("Did")), tuple(did), (1,), about
        )
    calls = rpc_troubles(job, scope.end, found.starts)
    if calls.seconds:
        rows = [
            (
                day_and_clock_text(one.at),
                words.PHASES[one.phase][0] if one.phase else UNKNOWN,
                *map(count_text, (one.slots, one.deployments, one.partitions, one.taskmanagers_lost)),
            )
            for one in calls.seconds[:MOST_ROWS]
        ]
        columns = (
            message("Second (UTC)"),
            message("Phase"),
            message("Slots"),
            message("Tasks"),
            message("Partitions"),
            message("TaskManagers lost"),
        )
        yield Table(message("Calls that timed out"), columns, tuple(rows), (2, 3, 4, 5), words.about_calls(calls))
    jars = jar_downloads(job, found, None, LINK_MBIT_PER_S * 125_000)
    if jars.downloads:
        fetched = [
            (texts.name(one.process), day_and_clock_text(one.at), count_text(one.files), duration_text(one.at_most_ms))
            for one in jars.downloads
        ]
        of_jars = (message("Log of the TaskManager"), message("Began (UTC)"), "Files", message("Took at most"))
        yield Table(message("Jars"), of_jars, tuple(fetched), (2, 3), words.about_jars(jars)[0])
