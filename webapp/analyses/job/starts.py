"""Starts of a job: how long each took, phase by phase, and which tasks, calls and downloads held it
up.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.messages import join_messages, message, plural
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Asked,
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.starts.jar_downloads import JarDownloads, jar_downloads
from webapp.analyses.starts.job_starts import JobStarts, Start, job_starts
from webapp.analyses.starts.rpc_troubles import RpcTroubles, rpc_troubles
from webapp.analyses.starts.words import KINDS, PHASES, about_calls, about_jars, verdict
from webapp.charts.starts import phases_by_start
from webapp.fleet.models import JobCurrent
from webapp.lib import shown_zone
from webapp.lib.instants import day_and_clock_text
from webapp.lib.messages.rendering import localised

SHOWN = 12
FAILURE_CHARS = 200
OWN = message("Deploy + restore")
DOES_NOT_LOG = message(
    "Whether consumers asked for the state of partitions is not known: TaskManagers log it "
    "only at DEBUG, with the logger "
    "org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate."
)


@analysis(
    "starts",
    title=message("Starts"),
    summary=message(
        "how long the job took to start and to restart, phase by phase, and which tasks were last"
    ),
    tab="runtime",
    in_report=True,
)
def starts(job: JobCurrent, asked: Asked) -> Document:
    """Up to the end of the time: what a job took to start is asked for long afterwards."""
    job_starts_read = job_starts(job, until=asked.until)
    calls, jars = (
        rpc_troubles(job, asked.until, job_starts_read.starts),
        jar_downloads(job, job_starts_read, asked.until),
    )
    blocks: list[Block] = [Chart("phases", message("Phases"), subtitle=message("of each start"))]
    if job_starts_read.newest:
        blocks += [
            _starts(job_starts_read),
            _phases(job_starts_read.newest),
            _slowest(job_starts_read.newest),
        ]
    blocks += [*_calls(calls), _jars(jars)]
    if job_starts_read.newest:
        blocks += _groups(job_starts_read.newest)
    return Document(_verdict(job_starts_read, calls, jars), tuple(blocks))


@starts.draws("phases")
def phases(job: JobCurrent, asked: Asked) -> Drawn:
    job_starts_read = job_starts(job, until=asked.until)
    if not job_starts_read.starts:
        text = message("Phases are known once all tasks of a start ran.")
        return Drawn(empty_title=message("No whole start was seen"), empty_text=text)
    oldest_first = [
        (
            f"{localised(KINDS[start.kind])}<br>{day_and_clock_text(start.at).replace(' ', '<br>', 1)}",
            {phase.name: phase.duration_ms for phase in start.phases if phase.name != "detect"},
        )
        for start in reversed(job_starts_read.starts)
    ]
    labels = {name: localised(label) for name, (label, _) in PHASES.items()}
    note = message("Oldest first; instants are {zone:name}.", zone=shown_zone.label())
    return Drawn(phases_by_start(oldest_first, labels), note)


def _verdict(starts_read: JobStarts, calls: RpcTroubles, jars: JarDownloads) -> Verdict:
    of_starts = verdict(starts_read, jars)
    if not any(second.calls for second in calls.seconds):
        return of_starts
    return Verdict("warn", join_messages((of_starts.sentence, about_calls(calls)), " "))


def _starts(starts_read: JobStarts) -> Table:
    had = [name for name in PHASES if any(name in start.phase_of for start in starts_read.starts)]
    known = plural(starts_read.compared, "{count:count} start known", "{count:count} starts known")
    of_jobs = plural(
        starts_read.jobs, "of {count:count} job of this name", "of {count:count} jobs of this name"
    )
    whole = message("from the submission, or from RESTARTING, until the last task ran")
    gap = message(
        "from the last completed checkpoint before it to the first one after it: for this "
        "time, sinks that commit with checkpoints showed nothing new"
    )
    stragglers = message("tasks that took three times as long as the median task of their vertex")

    def row(start: Start) -> tuple[Any, ...]:
        took = [
            start.phase_of[name].duration_ms if name in start.phase_of else None for name in had
        ]
        ends = (
            start.output_gap_ms,
            start.stragglers,
            start.held_up_ms if start.stragglers else None,
            start.restored.checkpoint_id if start.restored else None,
            start.lost_taskmanagers,
            (start.failure or "")[:FAILURE_CHARS] or None,
        )
        return (
            start.at,
            KINDS[start.kind],
            start.tasks,
            start.total_ms,
            start.usual_total_ms,
            *took,
            *ends,
        )

    return Table(
        "starts",
        message("Starts"),
        (
            Column("at", message("Scheduled"), "instant"),
            Column("kind", message("Kind")),
            Column("tasks", message("Tasks"), "count"),
            Column("total_ms", message("Until all ran"), "ms", whole),
            Column("usual_total_ms", message("Usually"), "ms", _USUALLY),
            *(Column(f"{name}_ms", PHASES[name][0], "ms", PHASES[name][1]) for name in had),
            Column("output_gap_ms", message("Output gap"), "ms", gap),
            Column("stragglers", message("Stragglers"), "count", stragglers),
            Column(
                "held_up_ms",
                message("Held up"),
                "ms",
                message("how long all others waited for them"),
            ),
            Column("restored", message("Restored"), "checkpoint"),
            Column("lost_taskmanagers", message("TaskManagers lost"), "count"),
            Column("failure", message("Failure")),
        ),
        tuple(map(row, starts_read.starts)),
        subtitle=join_messages(
            (message("newest first"), join_messages((known, of_jobs), " ")), " · "
        ),
    )


_USUALLY = message("the median of earlier starts of jobs of this name on this cluster")


def _phases(newest: Start) -> Table:
    by_log = message(
        "Read from the JobManager's log: how long each task waited for its slot is not known."
    )
    return Table(
        "phases",
        message("Phases of the newest start"),
        (
            Column("phase", message("Phase")),
            Column("duration_ms", message("Took"), "ms"),
            Column("usual_ms", message("Usually"), "ms", _USUALLY),
            Column("over_usual", message("Against it"), "factor"),
            Column("meaning", message("Meaning")),
        ),
        tuple(
            (
                PHASES[phase.name][0],
                phase.duration_ms,
                phase.usual_ms,
                phase.over_usual,
                PHASES[phase.name][1],
            )
            for phase in newest.phases
        ),
        note=by_log if newest.reported_by == "log" else "",
    )


def _slowest(newest: Start) -> Table:
    slowest = newest.detail.get("slowest") or ()
    return Table(
        "slowest",
        message("Slowest tasks"),
        (
            Column("task", message("Task")),
            Column("subtask", message("Subtask"), "number"),
            Column("host", message("Host"), "host"),
            Column("taskmanager_id", message("TaskManager"), "mono"),
            Column("slots_ms", message("Slots"), "ms"),
            Column("deploy_ms", message("Deploy"), "ms"),
            Column("restore_ms", message("Restore"), "ms"),
            Column("own_ms", OWN, "ms"),
            Column("straggles", message("Straggles"), "flag"),
        ),
        tuple(
            (
                one["name"],
                one["subtask"],
                one["host"],
                one["taskmanager_id"],
                one["slots_ms"],
                one["deploy_ms"],
                one["restore_ms"],
                one["own_ms"],
                bool(one["straggles"]),
            )
            for one in slowest
        ),
        subtitle=message(
            "of the newest start: the slowest 1 %, and those that straggled, at most 100; "
            "{slowest:count} of {tasks:count}",
            slowest=len(slowest),
            tasks=newest.tasks,
        ),
    )


def _calls(troubles: RpcTroubles) -> Iterator[Block]:
    """A table where any timed out, else the sentence."""
    if not troubles.is_known:
        yield NotKnown(about_calls(troubles))
        return
    if not troubles.seconds:
        yield Note(about_calls(troubles))
    else:
        yield _seconds(troubles)
    if troubles.state_requests is None:
        yield Note(DOES_NOT_LOG)


def _seconds(troubles: RpcTroubles) -> Table:
    limits = message(
        "What lets more through: pekko.ask.timeout (akka.ask.timeout before 1.18), "
        "taskmanager.network.request-backoff.max, fewer slots on a TaskManager, smaller jars."
    )
    cut = message("Only the newest lines were read.") if troubles.cut else ""
    return Table(
        "calls",
        message("Calls that timed out"),
        (
            Column("at", message("Second"), "instant"),
            Column("phase", message("Phase")),
            Column("slots", message("Slots"), "count"),
            Column(
                "deployments",
                message("Tasks"),
                "count",
                message("tasks that failed since a call that deploys or reports them timed out"),
            ),
            Column(
                "partitions",
                message("Partitions"),
                "count",
                message("partitions that consumers asked for and that were not there"),
            ),
            Column(
                "state_requests",
                message("State requests"),
                "count",
                message(
                    "consumers asked the JobManager whether the producer of a partition will have "
                    "it"
                ),
            ),
            Column("taskmanagers_lost", message("TaskManagers lost"), "count"),
        ),
        tuple(
            (
                second.at,
                PHASES[second.phase][0] if second.phase else None,
                second.slots,
                second.deployments,
                second.partitions,
                None if troubles.state_requests is None else second.state_requests,
                second.taskmanagers_lost,
            )
            for second in troubles.seconds[:SHOWN]
        ),
        subtitle=message(
            "between JobManager and TaskManagers, by the logs of an hour; worst first"
        ),
        note=join_messages((about_calls(troubles), cut, limits), " "),
        total=len(troubles.seconds),
    )


def _jars(downloads: JarDownloads) -> Block:
    if not downloads.downloads:
        return Note(about_jars(downloads))
    at_most = message("until its first task was deployed: Flink does not log when a download ends")
    return Table(
        "jars",
        message("Jars"),
        (
            Column("process", message("Log of the TaskManager"), "mono"),
            Column("at", message("Began"), "instant"),
            Column("files", message("Files"), "count"),
            Column("at_most_ms", message("Took at most"), "ms", at_most),
        ),
        tuple(
            (download.process, download.at, download.files, download.at_most_ms)
            for download in downloads.downloads[:SHOWN]
        ),
        subtitle=message("what TaskManagers fetched when the job was deployed; longest first"),
        note=about_jars(downloads),
        total=len(downloads.downloads),
    )


def _groups(newest: Start) -> Iterator[Table]:
    """By vertex, by TaskManager and by host: where the slow tasks are."""
    for key, title, first in (
        ("vertices", message("Vertices"), (Column("name", message("Vertex")),)),
        (
            "taskmanagers",
            message("TaskManagers"),
            (
                Column("taskmanager_id", message("TaskManager"), "mono"),
                Column("host", message("Host"), "host"),
            ),
        ),
        ("hosts", message("Hosts"), (Column("host", message("Host"), "host"),)),
    ):
        columns = (
            *first,
            Column("tasks", message("Tasks"), "count"),
            Column("slots_max_ms", message("Slots"), "ms", _LONGEST),
            Column("deploy_max_ms", message("Deploy"), "ms", _LONGEST),
            Column("restore_max_ms", message("Restore"), "ms", _LONGEST),
            Column("own_median_ms", message("Deploy + restore, median"), "ms"),
            Column("own_max_ms", message("Deploy + restore, longest"), "ms"),
        )
        rows: Sequence[Mapping[str, Any]] = newest.detail.get(key) or ()
        yield Table(
            key,
            title,
            columns,
            tuple(tuple(row.get(column.key) for column in columns) for row in rows),
            subtitle=message("of the newest start, slowest first, at most 12"),
            empty=message("not known"),
        )


_LONGEST = message("of its task that took longest")
