"""Starts of a job: the duration of each phase, and which tasks, calls and downloads delayed it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.messages import in_sentence, join_messages, message, plural
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Inputs,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.starts.job_starts import (
    JarDownloads,
    JobStarts,
    Phase,
    Start,
    jar_downloads,
    job_starts,
)
from webapp.analyses.starts.rpc_troubles import RpcTroubles, rpc_troubles
from webapp.charts.starts import phases_by_start
from webapp.fleet.models import JobCurrent
from webapp.lib import shown_zone
from webapp.lib.instants import day_and_clock_text, instant_text
from webapp.lib.messages.rendering import localised
from webapp.lib.quantities import count_text, duration_text

PHASES = {
    "detect": (
        message("Detect"),
        message("from the first failed task to the decision to restart; before the downtime"),
    ),
    "graph": (
        message("Graph"),
        message(
            "from the submission until scheduling began: the execution graph is built, the "
            "snapshot's _metadata is read"
        ),
    ),
    "cancel": (message("Cancel"), message("until the last task of the previous attempt had ended")),
    "wait": (
        message("Wait"),
        message("until the job was RUNNING again: the delay of its restart strategy, or no slots"),
    ),
    "failed_attempts": (
        message("Failed attempts"),
        message("deployments in which tasks failed again before all ran"),
    ),
    "slots": (message("Slots"), message("until the last task had its slot")),
    "deploy": (
        message("Deploy"),
        message(
            "until the last task began to restore: it is sent to its TaskManager, which fetches "
            "the jars"
        ),
    ),
    "restore": (
        message("Restore"),
        message("until the last task ran: state is restored, operators are opened"),
    ),
}
KINDS = {"start": message("Start"), "restart": message("Restart"), "rescale": message("Rescale")}
MUCH_LONGER = 2.0
"""Times the usual from which a start is called slow."""
HELD_UP_MS = 1_000
NAME_CHARS = 80


def verdict(starts: JobStarts, jars: JarDownloads | None = None) -> Verdict:
    newest = starts.newest
    if newest is None and jars and jars.at:
        return Verdict(
            "unknown",
            message(
                "It was deployed at {at:name}, when its jars were fetched. When all tasks ran was "
                "not seen.",
                at=instant_text(jars.at),
            ),
        )
    if newest is None:
        return Verdict(
            "unknown",
            message("No start of this job was seen from its beginning until all tasks ran."),
        )
    took = (
        message(
            "The newest {kind:name} took {total_ms:name}",
            kind=in_sentence(KINDS[newest.kind]),
            total_ms=duration_text(newest.total_ms),
        )
        if newest.total_ms is not None
        else message(
            "All tasks of the newest {kind:name} ran", kind=in_sentence(KINDS[newest.kind])
        )
    )
    phase = newest.slowest_phase
    most = (
        message(
            ", most of it in {lower:name} ({duration_ms:name})",
            lower=_doing(newest, phase),
            duration_ms=duration_text(phase.duration_ms),
        )
        if phase
        else ""
    )
    held = _held_up(newest)
    ratio = (
        newest.total_ms / newest.usual_total_ms
        if newest.total_ms is not None and newest.usual_total_ms
        else None
    )
    usual = (
        ""
        if ratio is None
        else message(
            " That is {ratio:name} times the median of earlier starts of jobs of this name.",
            ratio=f"{ratio:.1f}",
        )
    )
    is_slow = bool(held) or (ratio is not None and ratio >= MUCH_LONGER)
    return Verdict(
        "warn" if is_slow else "ok",
        message(
            "{sentence:name}.",
            sentence=message("{took:message}{most:message}", took=took, most=most),
        )
        + message("{usual:message}{held:text}", usual=usual, held=held),
    )


def _doing(start: Start, phase: Phase) -> str:
    if phase.name == "restore" and start.restored is None:
        return message("opening operators")
    return in_sentence(PHASES[phase.name][0])


def about_jars(downloads: JarDownloads) -> str:
    if downloads.downloads:
        longest, processes = downloads.downloads[0].at_most_ms, len(downloads.downloads)
        took = (
            message("; the longest took at most {longest:name}", longest=duration_text(longest))
            if longest is not None
            else ""
        )
        files = plural(
            downloads.files, "{files:count} file", "{files:count} files", files=downloads.files
        )
        managers = plural(
            processes,
            "{taskmanagers:count} TaskManager",
            "{taskmanagers:count} TaskManagers",
            taskmanagers=processes,
        )
        fetched = message(
            "{managers:text} fetched {files:text} from the JobManager{took:text}.",
            managers=managers,
            files=files,
            took=took,
        )
    else:
        fetched = message(
            "No log of a TaskManager has a download from the JobManager: jars lie where "
            "TaskManagers find them, or no log was read."
        )
    if not downloads.high_availability:
        return fetched
    on = message(
        "High availability is on: TaskManagers read jars from its storage, and from the "
        "JobManager only if that fails."
    )
    return join_messages((fetched, on), " ")


def about_calls(troubles: RpcTroubles) -> str:
    if not troubles.is_known:
        return message(
            "Whether calls timed out is not known: no log of this job was read for that hour."
        )
    if not troubles.seconds:
        return message(
            "No request for a slot, no deployment and no request for a partition timed out in the "
            "hour before."
        )
    asked = about_state_requests(troubles)
    if not any(second.calls or second.taskmanagers_lost for second in troubles.seconds):
        in_time = message(
            "No request for a slot, no deployment and no request for a partition timed out in the "
            "hour before."
        )
        return join_messages((in_time, asked), " ")
    worst = troubles.seconds[0]
    phase = (
        message(", in {lower:name} of a start", lower=in_sentence(PHASES[worst.phase][0]))
        if worst.phase
        else ""
    )
    calls = message(
        "{slots:name} requests for slots and {deployments:name} calls about tasks timed out in an "
        "hour, {partitions:name} partitions were not found, {taskmanagers_lost:name} TaskManagers "
        "were lost. The worst second had {calls:name}{phase:text}.",
        slots=count_text(troubles.slots),
        deployments=count_text(troubles.deployments),
        partitions=count_text(troubles.partitions),
        taskmanagers_lost=count_text(troubles.taskmanagers_lost),
        calls=count_text(worst.calls),
        phase=phase,
    )
    return message("{calls:message} {asked:text}", calls=calls, asked=asked).strip()


def about_state_requests(troubles: RpcTroubles) -> str:
    """Empty if no line has one."""
    if troubles.state_requests is None:
        return ""
    worst = max(troubles.seconds, key=lambda second: second.state_requests)
    return message(
        "Consumers asked the JobManager for the state of partitions {requests:name} times, up to "
        "{most:name} times in a second.",
        requests=count_text(troubles.state_requests),
        most=count_text(worst.state_requests),
    )


def _held_up(start: Start) -> str:
    task, place = _straggler(start)
    if not task:
        return ""
    held_up = duration_text(start.held_up_ms)
    if not place:
        return message(
            " {task:name} delayed all others by {held_up_ms:name}.", task=task, held_up_ms=held_up
        )
    return message(
        " {task:name} on {host:name} delayed all others by {held_up_ms:name}.",
        task=task,
        host=place,
        held_up_ms=held_up,
    )


def _straggler(start: Start) -> tuple[str, str]:
    """(task, place), each empty if there is none."""
    slowest = next(
        (vertex for vertex in start.detail.get("slowest") or () if vertex["straggles"]), None
    )
    if slowest is None or start.held_up_ms < HELD_UP_MS:
        return "", ""
    name = (
        slowest["name"]
        if len(slowest["name"]) <= NAME_CHARS
        else f"{slowest['name'][: NAME_CHARS - 1]}…"
    )
    return f"{name}/{slowest['subtask']}", slowest["host"] or slowest["taskmanager_id"] or ""


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
def starts(job: JobCurrent, inputs: Inputs) -> Document:
    """All starts up to the end of the range, however old."""
    job_starts_read = job_starts(job, until=inputs.until)
    calls, jars = (
        rpc_troubles(job, inputs.until, job_starts_read.starts),
        jar_downloads(job, job_starts_read, inputs.until),
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
def phases(job: JobCurrent, inputs: Inputs) -> Drawn:
    job_starts_read = job_starts(job, until=inputs.until)
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
    return Table.of(
        newest.phases,
        "phases",
        message("Phases of the newest start"),
        (
            Column("phase", message("Phase"), value=lambda phase: PHASES[phase.name][0]),
            Column("duration_ms", message("Took"), "ms"),
            Column("usual_ms", message("Usually"), "ms", _USUALLY),
            Column("over_usual", message("Against it"), "factor"),
            Column("meaning", message("Meaning"), value=lambda phase: PHASES[phase.name][1]),
        ),
        note=by_log if newest.reported_by == "log" else "",
    )


def _slowest(newest: Start) -> Table:
    slowest = newest.detail.get("slowest") or ()
    return Table.of(
        slowest,
        "slowest",
        message("Slowest tasks"),
        (
            Column("task", message("Task"), value="name"),
            Column("subtask", message("Subtask"), "number"),
            Column("host", message("Host"), "host"),
            Column("taskmanager_id", message("TaskManager"), "mono"),
            Column("slots_ms", message("Slots"), "ms"),
            Column("deploy_ms", message("Deploy"), "ms"),
            Column("restore_ms", message("Restore"), "ms"),
            Column("own_ms", OWN, "ms"),
            Column(
                "straggles",
                message("Straggles"),
                "flag",
                value=lambda vertex: bool(vertex["straggles"]),
            ),
        ),
        subtitle=message(
            "of the newest start: the slowest 1 %, and those that straggled, at most 100; "
            "{slowest:count} of {tasks:count}",
            slowest=len(slowest),
            tasks=newest.tasks,
        ),
    )


def _calls(troubles: RpcTroubles) -> Iterator[Block]:
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
    return Table.of(
        troubles.seconds,
        "calls",
        message("Calls that timed out"),
        (
            Column("at", message("Second"), "instant"),
            Column(
                "phase",
                message("Phase"),
                value=lambda second: PHASES[second.phase][0] if second.phase else None,
            ),
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
                value=lambda second: (
                    None if troubles.state_requests is None else second.state_requests
                ),
            ),
            Column("taskmanagers_lost", message("TaskManagers lost"), "count"),
        ),
        most=SHOWN,
        subtitle=message(
            "between JobManager and TaskManagers, by the logs of an hour; worst first"
        ),
        note=join_messages((about_calls(troubles), cut, limits), " "),
    )


def _jars(downloads: JarDownloads) -> Block:
    if not downloads.downloads:
        return Note(about_jars(downloads))
    at_most = message("until its first task was deployed: Flink does not log when a download ends")
    return Table.of(
        downloads.downloads,
        "jars",
        message("Jars"),
        (
            Column("process", message("Log of the TaskManager"), "mono"),
            Column("at", message("Began"), "instant"),
            Column("files", message("Files"), "count"),
            Column("at_most_ms", message("Took at most"), "ms", at_most),
        ),
        most=SHOWN,
        subtitle=message("what TaskManagers fetched when the job was deployed; longest first"),
        note=about_jars(downloads),
    )


def _groups(newest: Start) -> Iterator[Table]:
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
