"""What a start came to, in words."""

from dataclasses import dataclass

from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.starts.jar_downloads import JarDownloads
from webapp.starts.job_starts import JobStarts, Start
from webapp.starts.rpc_troubles import RpcTroubles

PHASES = {
    "detect": ("Detect", "from the first failed task to the decision to restart; before the downtime"),
    "graph": ("Graph", "from the submission until scheduling began: the execution graph is built, the snapshot's _metadata is read"),
    "cancel": ("Cancel", "until the last task of the attempt before had ended"),
    "wait": ("Wait", "until the job was RUNNING again: the delay of its restart strategy, or no slots"),
    "failed_attempts": ("Failed attempts", "deployments in which tasks failed again before all ran"),
    "slots": ("Slots", "until the last task had its slot"),
    "deploy": ("Deploy", "until the last task began to restore: it is sent to its TaskManager, which fetches the jars"),
    "restore": ("Restore", "until the last task ran: state is restored, operators are opened"),
}
KINDS = {"start": "Start", "restart": "Restart", "rescale": "Rescale"}
MUCH_LONGER = 2.0
"""Times the usual from which a start is called slow."""
HELD_UP_MS = 1_000
NAME_CHARS = 80


@dataclass(frozen=True)
class Verdict:
    tone: str
    shape: str
    sentence: str


def verdict(found: JobStarts) -> Verdict:
    newest = found.newest
    if newest is None:
        return Verdict("unknown", "?", "No start of this job was seen from its beginning until all tasks ran.")
    took = (
        f"The newest {newest.kind} took {duration_text(newest.total_ms)}"
        if newest.total_ms is not None
        else f"All tasks of the newest {newest.kind} ran"
    )
    phase = newest.slowest_phase
    most = f", most of it in {PHASES[phase.name][0].lower()} ({duration_text(phase.duration_ms)})" if phase else ""
    slowest = straggler(newest)
    held = f" {slowest} held all others up for {duration_text(newest.held_up_ms)}." if slowest else ""
    ratio = newest.total_ms / newest.usual_total_ms if newest.total_ms is not None and newest.usual_total_ms else None
    usual = "" if ratio is None else f" That is {ratio:.1f} times the median of earlier starts of jobs of this name."
    is_slow = bool(held) or (ratio is not None and ratio >= MUCH_LONGER)
    return Verdict("warn" if is_slow else "ok", "◆" if is_slow else "●", f"{took}{most}.{usual}{held}")


def about_jars(found: JarDownloads) -> list[str]:
    """Sentences on what a deployment sends, and on what is not known of it."""
    said = []
    if found.processes:
        longest = found.downloads[0].at_most_ms
        took = f"; the longest took at most {duration_text(longest)}" if longest is not None else ""
        files = "file" if found.files == 1 else "files"
        managers = "TaskManager" if found.processes == 1 else "TaskManagers"
        said.append(f"{count_text(found.processes)} {managers} fetched {count_text(found.files)} {files} from the JobManager{took}.")
    else:
        said.append(
            "No log of a TaskManager has a download from the JobManager: jars lie where TaskManagers find them, or no log was read."
        )
    if found.high_availability:
        said.append("High availability is on: TaskManagers read jars from its storage, and from the JobManager only where that fails.")
    elif found.high_availability is None:
        said.append("Whether high availability is on is not known, and so is what the JobManager sends.")
    if found.jar_bytes is None:
        said.append("How large the jars are Flink reports nowhere: give it, and bytes and seconds follow.")
    elif found.sent_bytes is not None and found.saved_bytes is not None:
        said.append(
            f"The JobManager sends {bytes_text(found.sent_bytes)} for one deployment, {duration_text(found.sent_ms)} at the given link."
        )
        said.append(
            f"One download a host would save {bytes_text(found.saved_bytes)}, {duration_text(found.saved_ms)} of that."
            if found.saved_bytes
            else "Each host runs one of its TaskManagers: one download a host would save nothing."
        )
    elif found.taskmanagers is None or found.hosts is None:
        said.append("On how many TaskManagers and hosts it runs is not known.")
    return said


def about_calls(found: RpcTroubles) -> str:
    if not found.is_known:
        return "Whether calls timed out is not known: no log of this job was read for that hour."
    if not found.seconds:
        return "No request for a slot, no deployment and no request for a partition timed out in the hour before."
    worst = found.seconds[0]
    phase = f", in {PHASES[worst.phase][0].lower()} of a start" if worst.phase else ""
    return (
        f"{count_text(found.slots)} requests for slots and {count_text(found.deployments)} calls about tasks timed out in an hour, "
        f"{count_text(found.partitions)} partitions were not found, {count_text(found.taskmanagers_lost)} TaskManagers were lost. "
        f"The worst second had {count_text(worst.calls)}{phase}."
    )


def straggler(start: Start) -> str:
    """The slowest of the tasks that others waited for, and where it ran; empty where they did not."""
    slowest = next((one for one in start.detail.get("slowest") or () if one["straggles"]), None)
    if slowest is None or start.held_up_ms < HELD_UP_MS:
        return ""
    place = slowest["host"] or slowest["taskmanager_id"]
    name = slowest["name"] if len(slowest["name"]) <= NAME_CHARS else f"{slowest['name'][: NAME_CHARS - 1]}…"
    return f"{name}/{slowest['subtask']}{f' on {place}' if place else ''}"
