"""What a start came to, in words."""

from ingest.messages import in_sentence, join_messages, message, plural
from webapp.analyses.document import Verdict
from webapp.analyses.starts.jar_downloads import JarDownloads
from webapp.analyses.starts.job_starts import JobStarts, Phase, Start
from webapp.analyses.starts.rpc_troubles import RpcTroubles
from webapp.lib.instants import instant_text
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
    """What a deployment fetched, and from where."""
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
    """Empty where no line has one."""
    if troubles.state_requests is None:
        return ""
    worst = max(troubles.seconds, key=lambda second: second.state_requests)
    return message(
        "Consumers asked the JobManager for the state of partitions {requests:name} times, up to "
        "{most:name} times in a second.",
        requests=count_text(troubles.state_requests),
        most=count_text(worst.state_requests),
    )


def straggler(start: Start) -> str:
    """The slowest of the tasks that others waited for, and where it ran; empty where they did
    not.
    """
    return " on ".join(filter(None, _straggler(start)))


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
    """Task and place, each empty where there is none."""
    slowest = next((one for one in start.detail.get("slowest") or () if one["straggles"]), None)
    if slowest is None or start.held_up_ms < HELD_UP_MS:
        return "", ""
    name = (
        slowest["name"]
        if len(slowest["name"]) <= NAME_CHARS
        else f"{slowest['name'][: NAME_CHARS - 1]}…"
    )
    return f"{name}/{slowest['subtask']}", slowest["host"] or slowest["taskmanager_id"] or ""
