from collections.abc import Iterator

from ingest.messages import join_messages, list_text, message, plural
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Threshold
from spark_jobs.diagnosis.lost_taskmanagers import loss_reasons, newest_loss
from spark_jobs.diagnosis.pods import POD_KINDS, waiting_pods
from spark_jobs.diagnosis.restart_episodes import READS, Episode, episodes
from spark_jobs.diagnosis.root_exceptions import is_lost_taskmanager, lost_taskmanager
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow

RULE = "restart.taskmanager_lost"
LOOK_BACK_MS = 600_000
CASCADES_WITHIN_MS = 5_000
"""So soon after the loss, tasks on other TaskManagers fail because they need its tasks."""


@rule(
    RULE,
    message("TaskManager lost"),
    message("A TaskManager was lost, and the job does not run without it."),
    fed_by="incidents/1.20.5/lost-taskmanager",
    reads=(*READS, *POD_KINDS),
    needs=("annotations", "events"),
    thresholds=(
        Threshold(
            f"{RULE}.not_running_s",
            10,
            "s",
            1,
            3_600,
            message(
                "Where slots are free, the job runs again within ten seconds of its restart: a "
                "TaskManager less is no trouble then."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    recent_episodes = episodes(window, window.at_ms - LOOK_BACK_MS)
    if not recent_episodes or recent_episodes[-1].ended_ms is not None:
        return
    last = recent_episodes[-1]
    traced_names = (lost_taskmanager(failure.stacktrace) for failure in last.failures)
    lost = last.lost or tuple(dict.fromkeys(filter(None, traced_names)))
    down_ms = window.at_ms - last.begun_ms
    if lost and not _has_other_cause(last) and down_ms >= limits[f"{RULE}.not_running_s"] * 1000:
        yield _finding(window, limits, last, lost, down_ms)


def _has_other_cause(episode: Episode) -> bool:
    cascade_end_ms = episode.begun_ms + CASCADES_WITHIN_MS
    return any(
        failure.at_ms > cascade_end_ms
        and not is_lost_taskmanager(failure.name, failure.stacktrace)
        and "NoResourceAvailable" not in f"{failure.name}{(failure.stacktrace or '')[:4000]}"
        for failure in episode.failures
    )


def _finding(
    window: JobWindow, limits: Limits, episode: Episode, lost: tuple[str, ...], down_ms: int
) -> Finding:
    names, reasons = list_text(lost), loss_reasons(window)
    reason = next((reasons[name] for name in reversed(lost) if name in reasons), "")
    cause, pods = cause_of(reason), waiting_pods(window)
    blocker = (pods and pods.cause) or cause
    return job_finding(
        window,
        RULE,
        "warning",
        "high" if episode.lost else "medium",
        title=message(
            "{names:name} lost: the job has not run for {down_ms:duration}",
            names=names,
            down_ms=down_ms,
        ),
        cause=join_messages(
            (
                message(
                    "{lost:message} ({names:name}), and not all tasks run again: the TaskManagers "
                    "that are left have too few free slots, or the restore takes this long.",
                    lost=plural(
                        len(lost),
                        "{count:count} TaskManager was lost",
                        "{count:count} TaskManagers were lost",
                    ),
                    names=names,
                ),
                newest_loss(cause, reason) if cause else "",
                pods.sentence if pods else "",
            ),
            " ",
        ),
        next_step=blocker.next_step
        if blocker
        else message(
            "Bring the TaskManager back, or as many slots as it had: the job restarts by itself "
            "as soon as they are there. The reason of the container's end (OOMKilled, evicted, "
            "node lost) or the end of its log says why it was lost."
        ),
        evidence=(
            limits.evidence(
                message("not all tasks running for"), down_ms / 1000, f"{RULE}.not_running_s"
            ),
            *([Evidence(message("end of the newest"), reason)] if reason else ()),
            *([pods.evidence] if pods else ()),
        ),
        related=tuple(Related("taskmanager", name, message("lost")) for name in lost),
        data={"lost_taskmanagers": list(lost), "cause": code_of(cause)},
    )
