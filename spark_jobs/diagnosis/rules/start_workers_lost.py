"""Only the ResourceManager logs that a TaskManager dies before it registers, and only Kubernetes
knows why a pod waits. The job times out minutes later.
"""

import re
from collections.abc import Iterator

from ingest.messages import list_text, message
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.pods import POD_KINDS, WaitingPods, waiting_pods
from spark_jobs.diagnosis.restart_episodes import restart_instants
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.stack_traces import without_middle

RULE = "start.workers_lost"
LEAST_WORKERS = 3
"""A single TaskManager may die with its node; three have a common cause."""
LOOK_BACK_MS = 900_000
"""Flink waits five minutes for a TaskManager to register."""
ENDED, UNREGISTERED, REFUSED = "worker_terminated", "worker_unregistered", "worker_request_failed"
FATAL = "taskmanager_fatal"
NOT_STARTED = re.compile(
    r"TaskManager initialization failed"
    r"|Terminating TaskManagerRunner [^\n]*\n(?!.*Unexpected failure during runtime of)\S",
    re.DOTALL,
)
"""TaskManagers that ran log the second line without an exception, or with the excluded one."""
STOPPED_ON_PURPOSE = "TASKMANAGER_STOPPED"
REASON_CHARS = 300
WAITS_MS = 180_000
"""A node that an autoscaler adds for a pod is mostly ready within this time."""


@rule(
    RULE,
    message("TaskManagers do not start"),
    message(
        "At least three TaskManagers ended, or could not be started, before any task ran on them; "
        "or the job does not run, and a pod of a TaskManager has waited for three minutes."
    ),
    hold_s=900,
    reads=(ENDED, UNREGISTERED, REFUSED, FATAL, *POD_KINDS),
    needs=("events",),
    fed_by="incidents/1.20.5/dying-taskmanagers",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    losses = [event for event in window.events if event.at_ms > since_ms and _is_lost(event)]
    if any(event.kind == REFUSED and event.container for event in losses):
        # Kubernetes' driver logs a pod's failure; the ResourceManager repeats it without the name.
        losses = [event for event in losses if event.kind != REFUSED or event.container]
    if window.terminal:
        return
    if len(losses) < LEAST_WORKERS:
        pods = waiting_pods(window)
        if pods and window.at_ms - pods.since_ms >= WAITS_MS and not _runs(window):
            yield _waiting(window, pods)
        return
    newest = losses[-1]
    if any(checkpoint.trigger_time_ms > newest.at_ms for checkpoint in window.checkpoints):
        return  # all tasks run: enough others came
    cause = cause_of(f"{_reason(newest)}\n{newest.detail or ''}")
    reason = without_middle(_reason(newest), REASON_CHARS)
    names = list(dict.fromkeys(event.container for event in losses if event.container))
    unnamed = message("none was even started") if newest.kind == REFUSED else message("not known")
    yield job_finding(
        window,
        RULE,
        "critical",
        "high" if cause else "medium",
        title=message(
            "{lost:number} TaskManagers died before any task ran on them: {what:text}",
            lost=len(losses),
            what=cause.title if cause else reason or message("no reason reported"),
        ),
        cause=message(
            "The job waits for slots, and the TaskManagers that should bring them end first: "
            "{names:name}. The newest reason: {reason:text}",
            names=list_text(names) or unnamed,
            reason=reason or message("not known"),
        ),
        next_step=cause.next_step
        if cause
        else message(
            "Read the log of such a TaskManager (kubectl logs --previous, yarn logs) and the "
            "events of its pod: image, settings, secrets, quota."
        ),
        seen_at_ms=newest.at_ms,
        evidence=(
            Evidence(
                message("TaskManagers that died before any task ran"),
                len(losses),
                "count",
                LEAST_WORKERS,
                ">=",
            ),
        ),
        related=tuple(Related("taskmanager", name, message("lost")) for name in names[-10:]),
        data={"cause": code_of(cause)},
    )


def _waiting(window: JobWindow, pods: WaitingPods) -> Finding:
    return job_finding(
        window,
        RULE,
        "critical",
        "high",
        title=message(
            "The job waits for TaskManagers whose pods do not start: {what:text}",
            what=pods.cause.title if pods.cause else pods.reason,
        ),
        cause=message(
            "Not all tasks have run since the job last began, and TaskManagers that should bring "
            "slots are not there. {pods:message}",
            pods=pods.sentence,
        ),
        next_step=pods.cause.next_step
        if pods.cause
        else message("See the events of such a pod (kubectl describe pod)."),
        evidence=(
            pods.evidence,
            Evidence(
                message("time since the first began to wait"),
                window.at_ms - pods.since_ms,
                "ms",
                WAITS_MS,
                ">=",
            ),
        ),
        related=tuple(Related("taskmanager", name, message("waits")) for name in pods.names[-10:]),
        data={"cause": code_of(pods.cause)},
        began_at_ms=pods.since_ms,
    )


def _runs(window: JobWindow) -> bool:
    """Whether all tasks ran since the job last began, or some run now."""
    begun_ms = max([window.start_time_ms or 0, *restart_instants(window)])
    return (
        any(start.running_at_ms > begun_ms for start in window.starts)
        or any(checkpoint.trigger_time_ms > begun_ms for checkpoint in window.checkpoints)
        or any(vertex.samples for vertex in window.vertex_windows)
    )


def _is_lost(event: LogEvent) -> bool:
    if event.kind == FATAL:
        return bool(NOT_STARTED.search(f"{event.message}\n{event.detail or ''}"))
    if event.kind != ENDED:
        return event.kind in (UNREGISTERED, REFUSED)
    cause = cause_of(_reason(event))
    return cause is not None and cause.code != STOPPED_ON_PURPOSE


def _reason(event: LogEvent) -> str:
    if event.kind == UNREGISTERED:
        return event.message or ""
    return str(event.fields.get("reason_text") or event.detail or event.message or "")
