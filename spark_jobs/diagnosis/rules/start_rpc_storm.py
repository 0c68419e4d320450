"""Calls between JobManager and TaskManagers while tasks are deployed: more is sent at once than the
ask time-out allows, or consumers ask for the state of partitions of producers that are still being
deployed, which Flink logs at DEBUG alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from ingest.messages import message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.window_contents import EVENTS, TASKMANAGER_LOST

RULE = "start.rpc_storm"
SHARE, LEAST, WINDOW = f"{RULE}.share_of_tasks", f"{RULE}.least", f"{RULE}.window_s"
STATE_REQUESTS = f"{RULE}.state_requests_in_a_second"
STATE_REQUEST = "partition_state_request"
TIMED_OUT, NOT_FOUND = "RPC_TIMEOUT", "PARTITION_NOT_FOUND"
PEKKO_SINCE = (1, 18)


@rule(
    RULE,
    message("RPC storm"),
    message(
        "While the tasks of the job are deployed, requests for slots and deployments time out, or "
        "consumers ask the JobManager for the state of partitions many times a second."
    ),
    fed_by="incidents/1.20.5/short-ask",
    hold_s=600,
    reads=("slot_request_failed", message("task_state FAILED"), STATE_REQUEST),
    needs=("events",),
    thresholds=(
        Threshold(
            SHARE,
            0.02,
            "ratio",
            0.0001,
            100.0,
            message(
                "Share of the tasks of the job: one call in fifty that times out restarts it again."
            ),
        ),
        Threshold(
            LEAST,
            3,
            "count",
            1,
            100_000,
            message("One or two of a small job may be a pause of a garbage collection."),
        ),
        Threshold(
            STATE_REQUESTS,
            50,
            "count",
            1,
            EVENTS,
            message(
                "The JobManager answers each during the deployment; fewer per second do not "
                "load it."
            ),
        ),
        Threshold(
            WINDOW,
            600,
            "s",
            60,
            86_400,
            message(
                "Ten minutes: attempts that follow each other within this time belong together."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    events = [
        event for event in _each_once(window.events) if since_ms < event.at_ms <= window.at_ms
    ]
    asked = [
        event
        for event in window.events
        if event.kind == STATE_REQUEST and since_ms < event.at_ms <= window.at_ms
    ]
    tasks = sum(vertex.parallelism or 0 for vertex in window.vertices)
    if events and len(events) >= max(limits[LEAST], limits[SHARE] * tasks):
        yield _finding(window, limits, events, tasks, since_ms, asked)
    elif asked and _worst_second(asked)[1] >= limits[STATE_REQUESTS]:
        yield _of_state_requests(window, limits, asked, tasks)


def _each_once(events: Sequence[LogEvent]) -> list[LogEvent]:
    tasks: dict[tuple[object, ...], LogEvent] = {}
    for event in events:
        if event.reason in (TIMED_OUT, NOT_FOUND):
            is_task = event.kind == "task_state"
            key = (
                (event.vertex_id or event.vertex_name, event.subtask, event.attempt)
                if is_task
                else (id(event),)
            )
            tasks.setdefault(key, event)
    return sorted(tasks.values(), key=lambda task: task.at_ms)


def _worst_second(events: Sequence[LogEvent]) -> tuple[int, int]:
    return Counter(event.at_ms // 1000 for event in events).most_common(1)[0]


def _of_state_requests(
    window: JobWindow, limits: Limits, asked: Sequence[LogEvent], tasks: int
) -> Finding:
    second, most = _worst_second(asked)
    askers = len({(event.vertex_id or event.vertex_name, event.subtask) for event in asked})
    at_ms = max(event.at_ms for event in asked)
    return job_finding(
        window,
        RULE,
        "info",
        "high",
        title=message(
            "The JobManager was asked for the state of partitions {most:message} in a second",
            most=plural(most, "{count:count} time", "{count:count} times"),
        ),
        cause=message(
            "{askers:message} ran before the producers of their partitions were deployed. Each "
            "asks the producer, which has no such partition, then the JobManager for its state, "
            "and then the producer once more: for each channel, beside the deployments.",
            askers=plural(askers, "{count:count} task", "{count:count} tasks"),
        ),
        next_step=message(
            "Find what holds up the deployment of the producers: the page about starts shows "
            "how long TaskManagers took to fetch jars. Until then let consumers ask less "
            "often: raise taskmanager.network.request-backoff.initial, and where the release "
            "has it (1.20 and later) leave taskmanager.network.partition-request-timeout at "
            "its 10 s, so that requests wait at the producer."
        ),
        seen_at_ms=at_ms,
        evidence=(
            limits.compared(
                message("requests for the state of partitions in the worst second"),
                most,
                "count",
                ">=",
                STATE_REQUESTS,
                second * 1000,
            ),
            Evidence(message("tasks that asked"), askers, "count", at_ms=at_ms),
            Evidence(message("tasks of the job"), tasks, "count", at_ms=at_ms),
        ),
        data={"state_requests_worst_second": most, "tasks_asking": askers},
    )


def _finding(
    window: JobWindow,
    limits: Limits,
    events: Sequence[LogEvent],
    tasks: int,
    since_ms: int,
    asked: Sequence[LogEvent],
) -> Finding:
    slots = sum(event.kind == "slot_request_failed" for event in events)
    missing = sum(event.reason == NOT_FOUND for event in events)
    deployed = len(events) - slots - missing
    lost = sum(
        annotation.kind == TASKMANAGER_LOST and annotation.at_ms > since_ms
        for annotation in window.annotations
    )
    second, most = _worst_second(events)
    prefix = "akka" if window.version is not None and window.version[:2] < PEKKO_SINCE else "pekko"
    at_ms = events[-1].at_ms
    backoff = (
        message(
            " and taskmanager.network.request-backoff.max, for consumers that asked for partitions "
            "too early"
        )
        if missing
        else ""
    )
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=message(
            "{found:message} timed out or came too early while {tasks:message} were deployed",
            found=plural(len(events), "{count:count} call", "{count:count} calls"),
            tasks=plural(tasks, "{count:count} task", "{count:count} tasks"),
        ),
        cause=message(
            "{slots:message} for slots and {deployed:message} that deploy or report tasks "
            "exceeded the ask time-out, {missing:message} were not found. Each of them "
            "fails a task, and the whole deployment is sent again: the load that made the "
            "first one late comes again with it.",
            slots=plural(slots, "{count:count} request", "{count:count} requests"),
            deployed=plural(deployed, "{count:count} call", "{count:count} calls"),
            missing=plural(missing, "{count:count} partition", "{count:count} partitions"),
        ),
        next_step=message(
            "Raise {prefix:name}.ask.timeout{backoff:message}; then make a deployment "
            "smaller: fewer slots on a TaskManager, smaller jars, less parallelism. The "
            "page about starts has the seconds.",
            prefix=prefix,
            backoff=backoff,
        ),
        seen_at_ms=at_ms,
        evidence=(
            limits.compared(
                message("calls that timed out or came too early"),
                len(events),
                "count",
                ">=",
                LEAST,
                at_ms,
            ),
            Evidence(message("in the worst second"), most, "count", at_ms=second * 1000),
            Evidence(
                message("tasks of the job"),
                tasks,
                "count",
                limits[SHARE] * tasks,
                ">=",
                at_ms=at_ms,
                note=message("share of them"),
            ),
            Evidence(message("TaskManagers lost in that time"), lost, "count", at_ms=at_ms),
            *(
                [
                    Evidence(
                        message("requests for the state of partitions in the worst second"),
                        _worst_second(asked)[1],
                        "count",
                    )
                ]
                if asked
                else []
            ),
        ),
        data={
            "slots": slots,
            "deployments": deployed,
            "partitions": missing,
            "worst_second": most,
            "taskmanagers_lost": lost,
        },
    )
