"""What a start came to, in words."""

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.lib.translations import gettext_lazy as _
from webapp.starts.jar_downloads import JarDownloads
from webapp.starts.job_starts import JobStarts, Start
from webapp.starts.rpc_troubles import RpcTroubles

PHASES = {
    "detect": (_("Detect"), _("from the first failed task to the decision to restart; before the downtime")),
    "graph": (_("Graph"), _("from the submission until scheduling began: the execution graph is built, the snapshot's _metadata is read")),
    "cancel": (_("Cancel"), _("until the last task of the attempt before had ended")),
    "wait": (_("Wait"), _("until the job was RUNNING again: the delay of its restart strategy, or no slots")),
    "failed_attempts": (_("Failed attempts"), _("deployments in which tasks failed again before all ran")),
    "slots": (_("Slots"), _("until the last task had its slot")),
    "deploy": (_("Deploy"), _("until the last task began to restore: it is sent to its TaskManager, which fetches the jars")),
    "restore": (_("Restore"), _("until the last task ran: state is restored, operators are opened")),
}
KINDS = {"start": _("Start"), "restart": _("Restart"), "rescale": _("Rescale")}
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
        return Verdict("unknown", "?", gettext("No start of this job was seen from its beginning until all tasks ran."))
    took = (
        gettext("The newest %(kind)s took %(total_ms)s") % {"kind": KINDS[newest.kind].lower(), "total_ms": duration_text(newest.total_ms)}
        if newest.total_ms is not None
        else gettext("All tasks of the newest %(kind)s ran") % {"kind": KINDS[newest.kind].lower()}
    )
    phase = newest.slowest_phase
    most = (
        gettext(", most of it in %(lower)s (%(duration_ms)s)")
        % {"lower": PHASES[phase.name][0].lower(), "duration_ms": duration_text(phase.duration_ms)}
        if phase
        else ""
    )
    held = _held_up(newest)
    ratio = newest.total_ms / newest.usual_total_ms if newest.total_ms is not None and newest.usual_total_ms else None
    usual = (
        ""
        if ratio is None
        else gettext(" That is %(ratio)s times the median of earlier starts of jobs of this name.") % {"ratio": f"{ratio:.1f}"}
    )
    is_slow = bool(held) or (ratio is not None and ratio >= MUCH_LONGER)
    return Verdict(
        "warn" if is_slow else "ok", "◆" if is_slow else "●", gettext("%(sentence)s.") % {"sentence": f"{took}{most}"} + f"{usual}{held}"
    )


def about_jars(found: JarDownloads) -> list[str]:
    """Sentences on what a deployment sends, and on what is not known of it."""
    said = []
    if found.processes:
        longest = found.downloads[0].at_most_ms
        took = gettext("; the longest took at most %(longest)s") % {"longest": duration_text(longest)} if longest is not None else ""
        files = ngettext("%(files)s file", "%(files)s files", found.files) % {"files": count_text(found.files)}
        managers = ngettext("%(taskmanagers)s TaskManager", "%(taskmanagers)s TaskManagers", found.processes) % {
            "taskmanagers": count_text(found.processes)
        }
        said.append(
            gettext("%(managers)s fetched %(files)s from the JobManager%(took)s.") % {"managers": managers, "files": files, "took": took}
        )
    else:
        said.append(
            gettext(
                "No log of a TaskManager has a download from the JobManager: jars lie where TaskManagers find them, or no log was read."
            )
        )
    if found.high_availability:
        said.append(
            gettext("High availability is on: TaskManagers read jars from its storage, and from the JobManager only where that fails.")
        )
    elif found.high_availability is None:
        said.append(gettext("Whether high availability is on is not known, and so is what the JobManager sends."))
    if found.jar_bytes is None:
        said.append(gettext("How large the jars are Flink reports nowhere: give it, and bytes and seconds follow."))
    elif found.sent_bytes is not None and found.saved_bytes is not None:
        said.append(
            gettext("The JobManager sends %(sent_bytes)s for one deployment, %(sent_ms)s at the given link.")
            % {"sent_bytes": bytes_text(found.sent_bytes), "sent_ms": duration_text(found.sent_ms)}
        )
        said.append(
            gettext("One download a host would save %(saved_bytes)s, %(saved_ms)s of that.")
            % {"saved_bytes": bytes_text(found.saved_bytes), "saved_ms": duration_text(found.saved_ms)}
            if found.saved_bytes
            else gettext("Each host runs one of its TaskManagers: one download a host would save nothing.")
        )
    elif found.taskmanagers is None or found.hosts is None:
        said.append(gettext("On how many TaskManagers and hosts it runs is not known."))
    return said


def about_calls(found: RpcTroubles) -> str:
    if not found.is_known:
        return gettext("Whether calls timed out is not known: no log of this job was read for that hour.")
    if not found.seconds:
        return gettext("No request for a slot, no deployment and no request for a partition timed out in the hour before.")
    asked = about_state_requests(found)
    if not any(one.calls or one.taskmanagers_lost for one in found.seconds):
        return f"{gettext('No request for a slot, no deployment and no request for a partition timed out in the hour before.')} {asked}"
    worst = found.seconds[0]
    phase = gettext(", in %(lower)s of a start") % {"lower": PHASES[worst.phase][0].lower()} if worst.phase else ""
    calls = gettext(
        "%(slots)s requests for slots and %(deployments)s calls about tasks timed out in an hour, %(partitions)s "
        "partitions were not found, %(taskmanagers_lost)s TaskManagers were lost. The worst second had "
        "%(calls)s%(phase)s."
    ) % {
        "slots": count_text(found.slots),
        "deployments": count_text(found.deployments),
        "partitions": count_text(found.partitions),
        "taskmanagers_lost": count_text(found.taskmanagers_lost),
        "calls": count_text(worst.calls),
        "phase": phase,
    }
    return f"{calls} {asked}".strip()


def about_state_requests(found: RpcTroubles) -> str:
    """Empty where no line has one."""
    if found.state_requests is None:
        return ""
    worst = max(found.seconds, key=lambda one: one.state_requests)
    return gettext("Consumers asked the JobManager for the state of partitions %(requests)s times, up to %(most)s times in a second.") % {
        "requests": count_text(found.state_requests),
        "most": count_text(worst.state_requests),
    }


def straggler(start: Start) -> str:
    """The slowest of the tasks that others waited for, and where it ran; empty where they did not."""
    return " on ".join(filter(None, _straggler(start)))


def _held_up(start: Start) -> str:
    task, place = _straggler(start)
    if not task:
        return ""
    held_up = duration_text(start.held_up_ms)
    if not place:
        return gettext(" %(task)s held all others up for %(held_up_ms)s.") % {"task": task, "held_up_ms": held_up}
    return gettext(" %(task)s on %(host)s held all others up for %(held_up_ms)s.") % {"task": task, "host": place, "held_up_ms": held_up}


def _straggler(start: Start) -> tuple[str, str]:
    """Task and place, each empty where there is none."""
    slowest = next((one for one in start.detail.get("slowest") or () if one["straggles"]), None)
    if slowest is None or start.held_up_ms < HELD_UP_MS:
        return "", ""
    name = slowest["name"] if len(slowest["name"]) <= NAME_CHARS else f"{slowest['name'][: NAME_CHARS - 1]}…"
    return f"{name}/{slowest['subtask']}", slowest["host"] or slowest["taskmanager_id"] or ""
