"""Starts of a job: their phases, and tasks, calls and downloads that delayed them."""

from typing import Any

from ingest.messages import in_sentence, join_messages, message, plural
from webapp.analyses.declaration import analysis
from webapp.analyses.document import Block, Column, Document, Inputs, Note, NotKnown, Table, Verdict
from webapp.analyses.starts.job_starts import (
    JarDownloads,
    JobStarts,
    Phase,
    Start,
    jar_downloads,
    job_starts,
)
from webapp.analyses.starts.rpc_troubles import RpcTroubles, rpc_troubles
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import instant_text
from webapp.lib.quantities import duration_text

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
INITIALIZATION_PARTS = {
    "MailboxStart": (message("Create"), message("until the objects of the task were created")),
    "ReadOutputData": (
        message("Output buffers"),
        message("those of an unaligned checkpoint were read"),
    ),
    "InitializeState": (
        message("State"),
        message("the state backend was opened, including downloads"),
    ),
    "DownloadState": (message("Download"), message("files of RocksDB were downloaded")),
    "RestoreState": (message("RocksDB"), message("it was opened with these files")),
    "GateRestore": (
        message("Input buffers"),
        message("those of an unaligned checkpoint were read"),
    ),
}
KINDS = {"start": message("Start"), "restart": message("Restart"), "rescale": message("Rescale")}
MUCH_LONGER = 2.0
"""A start is slow from this multiple of the usual duration."""
STRAGGLER_MS = 1_000
NAME_CHARS = 80


def starts_verdict(starts: JobStarts, jars: JarDownloads | None = None) -> Verdict:
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
            "No start of this job was seen from its beginning until all tasks ran.",
        )
    kind = in_sentence(KINDS[newest.kind])
    took = (
        message("All tasks of the newest {kind:name} ran", kind=kind)
        if newest.total_ms is None
        else message(
            "The newest {kind:name} took {total_ms:name}",
            kind=kind,
            total_ms=duration_text(newest.total_ms),
        )
    )
    most: str = ""
    if phase := newest.slowest_phase:
        most = message(
            ", longest phase: {phase:name} ({duration_ms:name})",
            phase=_phase_words(newest, phase),
            duration_ms=duration_text(phase.duration_ms),
        )
    ratio = (
        newest.total_ms / newest.usual_total_ms
        if newest.total_ms is not None and newest.usual_total_ms
        else None
    )
    sentences: list[str] = [message("{took:message}{most:text}.", took=took, most=most)]
    if ratio is not None:
        sentences.append(
            message(
                "That is {ratio:name} times the median of earlier starts of jobs of this name.",
                ratio=f"{ratio:.1f}",
            )
        )
    if delay := _straggler_delay(newest):
        sentences.append(delay)
    is_slow = bool(delay) or (ratio is not None and ratio >= MUCH_LONGER)
    return Verdict("warn" if is_slow else "ok", join_messages(sentences, " "))


def _phase_words(start: Start, phase: Phase) -> str:
    if phase.name == "restore" and start.restored is None:
        return message("opening operators")
    return in_sentence(PHASES[phase.name][0])


def jars_text(downloads: JarDownloads) -> str:
    if downloads.downloads:
        longest, processes = downloads.downloads[0].at_most_ms, len(downloads.downloads)
        took = (
            ""
            if longest is None
            else message(
                "; the longest took at most {longest:name}", longest=duration_text(longest)
            )
        )
        fetched = message(
            "{managers:text} fetched {files:text} from the JobManager{took:text}.",
            managers=plural(processes, "{count:count} TaskManager", "{count:count} TaskManagers"),
            files=plural(downloads.files, "{count:count} file", "{count:count} files"),
            took=took,
        )
    else:
        fetched = message(
            "No log of a TaskManager has a download from the JobManager: jars lie where "
            "TaskManagers find them, or no log was read."
        )
    if not downloads.high_availability:
        return fetched
    from_storage = message(
        "High availability is on: TaskManagers read jars from its storage, and from the "
        "JobManager only if that fails."
    )
    return join_messages((fetched, from_storage), " ")


def calls_text(troubles: RpcTroubles) -> str:
    if not troubles.is_known:
        return message(
            "Whether calls timed out is not known: no log of this job was read for that hour."
        )
    if not any(second.calls or second.taskmanagers_lost for second in troubles.seconds):
        return message(
            "No request for a slot, no deployment and no request for a partition timed out in the "
            "hour before."
        )
    worst = troubles.seconds[0]
    phase = (
        message(", in {phase:name} of a start", phase=in_sentence(PHASES[worst.phase][0]))
        if worst.phase
        else ""
    )
    return message(
        "{slots:count} requests for slots and {deployments:count} calls about tasks timed out in an "
        "hour, {partitions:count} partitions were not found, {taskmanagers_lost:count} TaskManagers "
        "were lost. The worst second had {calls:count}{phase:text}.",
        **troubles.totals,
        calls=worst.calls,
        phase=phase,
    )


def _straggler_delay(start: Start) -> str:
    slowest = next((task for task in start.detail.get("slowest") or () if task["straggles"]), None)
    if slowest is None or start.held_up_ms < STRAGGLER_MS:
        return ""
    name = slowest["name"]
    if len(name) > NAME_CHARS:
        name = f"{name[: NAME_CHARS - 1]}…"
    task, delay = f"{name}/{slowest['subtask']}", duration_text(start.held_up_ms)
    place = slowest["host"] or slowest["taskmanager_id"]
    if not place:
        return message("{task:name} delayed all others by {delay:name}.", task=task, delay=delay)
    return message(
        "{task:name} on {host:name} delayed all others by {delay:name}.",
        task=task,
        host=place,
        delay=delay,
    )


MOST_SHOWN = 12
FAILURE_CHARS = 200


@analysis(
    "starts",
    title="Starts",
    summary="how long the job took to start and to restart, phase by phase, and which tasks were last",
    tab="runtime",
    in_report=True,
)
def starts(job: JobCurrent, inputs: Inputs) -> Document:
    """All starts up to the end of the range, however old."""
    all_starts = job_starts(job, until=inputs.until)
    calls = rpc_troubles(job, inputs.until, all_starts.starts)
    jars = jar_downloads(job, all_starts, inputs.until)
    blocks: list[Block] = []
    if all_starts.newest:
        blocks += [_starts(all_starts), _phases(all_starts.newest)]
        if initialization := all_starts.newest.detail.get("initialization"):
            blocks.append(_initialization(initialization))
        blocks.append(_slowest(all_starts.newest))
    return Document(_verdict(all_starts, calls, jars), (*blocks, _calls(calls), _jars(jars)))


def _verdict(all_starts: JobStarts, calls: RpcTroubles, jars: JarDownloads) -> Verdict:
    verdict = starts_verdict(all_starts, jars)
    if not any(second.calls for second in calls.seconds):
        return verdict
    return Verdict("warn", join_messages((verdict.sentence, calls_text(calls)), " "))


def _starts(all_starts: JobStarts) -> Table:
    phases = [
        (name, words)
        for name, words in PHASES.items()
        if any(name in start.phase_of for start in all_starts.starts)
    ]
    known = plural(
        all_starts.compared,
        "usual times of {count:count} known start",
        "usual times of {count:count} known starts",
    )
    of_jobs = plural(
        all_starts.jobs, "of {count:count} job of this name", "of {count:count} jobs of this name"
    )
    return Table.of(
        all_starts.starts,
        "starts",
        "Starts",
        (
            Column("at", "Scheduled", "instant"),
            Column("kind", "Kind", value=lambda start: KINDS[start.kind]),
            Column("tasks", "Tasks", "count"),
            Column(
                "total_ms",
                "Until all ran",
                "ms",
                "from the submission, or from RESTARTING, until the last task ran",
            ),
            Column("usual_total_ms", "Usually", "ms", _USUALLY),
            *(
                Column(f"{name}_ms", title, "ms", meaning, f"phase_of.{name}.duration_ms")
                for name, (title, meaning) in phases
            ),
            Column(
                "output_gap_ms",
                "Output gap",
                "ms",
                (
                    "from the last completed checkpoint before it to the first one after it: for this "
                    "time, sinks that commit with checkpoints showed nothing new"
                ),
            ),
            Column(
                "stragglers",
                "Stragglers",
                "count",
                "tasks that took three times as long as the median task of their vertex",
            ),
            Column("restored", "Restored", "checkpoint", value="restored.checkpoint_id"),
            Column("lost_taskmanagers", "TaskManagers lost", "count"),
            Column(
                "failure",
                "Failure",
                value=lambda start: (start.failure or "")[:FAILURE_CHARS] or None,
            ),
        ),
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
        "Phases of the newest start",
        (
            Column("phase", "Phase", value=lambda phase: PHASES[phase.name][0]),
            Column("duration_ms", "Took", "ms"),
            Column("usual_ms", "Usually", "ms", _USUALLY),
            Column("over_usual", "Against it", "factor"),
            Column("meaning", "Meaning", value=lambda phase: PHASES[phase.name][1]),
        ),
        note=by_log if newest.reported_by == "log" else "",
    )


def _initialization(initialization: dict[str, Any]) -> Table:
    parts = initialization["parts_ms"]
    return Table.of(
        [(name, parts[name]) for name in INITIALIZATION_PARTS if name in parts],
        "initialization",
        "Initialization of the tasks",
        (
            Column("part", "Part", value=lambda part: INITIALIZATION_PARTS[part[0]][0]),
            Column("longest_ms", "Longest", "ms", value=lambda part: part[1]["longest"]),
            Column("sum_ms", "All tasks", "ms", value=lambda part: part[1]["sum"]),
            Column("meaning", "Meaning", value=lambda part: INITIALIZATION_PARTS[part[0]][1]),
        ),
        subtitle=message(
            "of the newest start, by Flink's span: {duration_ms:name}, {state:name}",
            duration_ms=duration_text(initialization["duration_ms"]),
            state=initialization["state"],
        ),
    )


def _slowest(newest: Start) -> Table:
    slowest = newest.detail.get("slowest") or ()
    return Table.of(
        slowest,
        "slowest",
        "Slowest tasks",
        (
            Column("task", "Task", value="name"),
            Column("subtask", "Subtask", "number"),
            Column("host", "Host", "host"),
            Column("taskmanager_id", "TaskManager", "mono"),
            Column("slots_ms", "Slots", "ms"),
            Column("deploy_ms", "Deploy", "ms"),
            Column("restore_ms", "Restore", "ms"),
            Column("straggles", "Straggles", "flag"),
        ),
        subtitle=message(
            "of the newest start: the slowest 1 %, and those that straggled, at most 100; "
            "{slowest:count} of {tasks:count}",
            slowest=len(slowest),
            tasks=newest.tasks,
        ),
    )


def _calls(troubles: RpcTroubles) -> Block:
    if not troubles.is_known:
        return NotKnown(calls_text(troubles))
    if not troubles.seconds:
        return Note(calls_text(troubles))
    limits = message(
        "What lets more through: pekko.ask.timeout (akka.ask.timeout before 1.18), "
        "taskmanager.network.request-backoff.max, fewer slots on a TaskManager, smaller jars."
    )
    cut = message("Only the newest lines were read.") if troubles.cut else ""
    return Table.of(
        troubles.seconds,
        "calls",
        "Calls that timed out",
        (
            Column("at", "Second", "instant"),
            Column(
                "phase",
                "Phase",
                value=lambda second: PHASES[second.phase][0] if second.phase else None,
            ),
            Column("slots", "Slots", "count"),
            Column(
                "deployments",
                "Tasks",
                "count",
                "tasks that failed since a call that deploys or reports them timed out",
            ),
            Column(
                "partitions",
                "Partitions",
                "count",
                "partitions that consumers asked for and that were not there",
            ),
            Column("taskmanagers_lost", "TaskManagers lost", "count"),
        ),
        most=MOST_SHOWN,
        subtitle="between JobManager and TaskManagers, by the logs of an hour; worst first",
        note=join_messages((calls_text(troubles), cut, limits), " "),
    )


def _jars(downloads: JarDownloads) -> Block:
    if not downloads.downloads:
        return Note(jars_text(downloads))
    return Table.of(
        downloads.downloads,
        "jars",
        "Jars",
        (
            Column("process", "Log of the TaskManager", "mono"),
            Column("at", "Began", "instant"),
            Column("files", "Files", "count"),
            Column(
                "at_most_ms",
                "Took at most",
                "ms",
                "until its first task was deployed: Flink does not log when a download ends",
            ),
        ),
        most=MOST_SHOWN,
        subtitle="what TaskManagers fetched when the job was deployed; longest first",
        note=jars_text(downloads),
    )
