"""Calls between JobManager and TaskManagers that time out while tasks are deployed: more is sent at once than the ask time-out allows."""

from collections import Counter
from collections.abc import Iterator, Sequence

from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.wording import count_text

RULE = "start.rpc_storm"
SHARE, LEAST, WINDOW = f"{RULE}.share_of_tasks", f"{RULE}.least", f"{RULE}.window_s"
TIMED_OUT, NOT_FOUND = "RPC_TIMEOUT", "PARTITION_NOT_FOUND"
PEKKO_SINCE = (1, 18)


@rule(
    RULE,
    "RPC storm",
    "Requests for slots, deployments and partition requests time out while the tasks of the job are deployed.",
    hold_s=600,
    reads=("slot_request_failed", "task_state FAILED"),
    thresholds=(
        Threshold(SHARE, 0.02, "ratio", 0.0001, 100.0, "Of the tasks of the job: one call in fifty that times out restarts it again."),
        Threshold(LEAST, 3, "count", 1, 100_000, "One or two of a small job may be a pause of a garbage collection."),
        Threshold(WINDOW, 600, "s", 60, 86_400, "Ten minutes: as long as attempts follow each other, they are one story."),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    found = [one for one in _each_once(window.events) if since_ms < one.at_ms <= window.at_ms]
    tasks = sum(vertex.parallelism or 0 for vertex in window.vertices)
    if found and len(found) >= max(limits[LEAST], limits[SHARE] * tasks):
        yield _finding(window, limits, found, tasks, since_ms)


def _each_once(events: Sequence[LogEvent]) -> list[LogEvent]:
    """JobManager and TaskManager log the same failure of a task."""
    tasks: dict[tuple[object, ...], LogEvent] = {}
    for event in events:
        if event.reason in (TIMED_OUT, NOT_FOUND):
            is_task = event.kind == "task_state"
            key = (event.vertex_id or event.vertex_name, event.subtask, event.attempt) if is_task else (id(event),)
            tasks.setdefault(key, event)
    return sorted(tasks.values(), key=lambda one: one.at_ms)


def _finding(window: JobWindow, limits: Limits, found: Sequence[LogEvent], tasks: int, since_ms: int) -> Finding:
    slots = sum(one.kind == "slot_request_failed" for one in found)
    missing = sum(one.reason == NOT_FOUND for one in found)
    deployed = len(found) - slots - missing
    lost = sum(one.kind == "taskmanager_lost" and one.at_ms > since_ms for one in window.annotations)
    second, most = Counter(one.at_ms // 1000 for one in found).most_common(1)[0]
    prefix = "akka" if window.version is not None and window.version[:2] < PEKKO_SINCE else "pekko"
    at_ms = found[-1].at_ms
    backoff = " and taskmanager.network.request-backoff.max, for consumers that asked for partitions too early" if missing else ""
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=f"{count_text(len(found), 'call')} timed out or came too early while {count_text(tasks, 'task')} were deployed",
        cause=f"{count_text(slots, 'request')} for slots and {count_text(deployed, 'call')} that deploy or report tasks exceeded the ask "
        f"time-out, {count_text(missing, 'partition')} were not found. Each of them fails a task, and the whole deployment is sent again: "
        "the load that made the first one late comes again with it.",
        next_step=f"Raise {prefix}.ask.timeout{backoff}; then make a deployment smaller: fewer slots on a TaskManager, smaller jars, less "
        "parallelism. The page about starts has the seconds.",
        seen_at_ms=at_ms,
        evidence=(
            limits.compared("calls that timed out or came too early", len(found), "count", ">=", LEAST, at_ms),
            Evidence("in the worst second", most, "count", at_ms=second * 1000),
            Evidence("tasks of the job", tasks, "count", limits[SHARE] * tasks, ">=", at_ms=at_ms, note="share of them"),
            Evidence("TaskManagers lost in that time", lost, "count", at_ms=at_ms),
        ),
        data={"slots": slots, "deployments": deployed, "partitions": missing, "worst_second": most, "taskmanagers_lost": lost},
    )
