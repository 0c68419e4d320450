from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import fsum

from ingest.messages import join_messages, message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.meters import has_start
from spark_jobs.diagnosis.placement_settings import spreading_setting, spreads
from spark_jobs.diagnosis.pressure import held_subtasks, value
from spark_jobs.diagnosis.pressure_walk import BACKPRESSURED
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.unevenness import REPORTING_SHARE

RULE = "placement.uneven"
LACKING = message("on which TaskManagers its subtasks run")
RATIO = f"{RULE}.max_over_mean"
EXTRA_TASKS = 4
"""In a small job, fewer tasks above the mean may be due to rounding."""
BUSY_RATIO = 1.5
"""A TaskManager that is so many times as busy as the mean limits the job if tasks are
back-pressured.
"""


@dataclass(frozen=True)
class Load:
    """The job's load on one TaskManager. ``busy``: the sum of the busy ratios of its subtasks."""

    taskmanager_id: str
    host: str | None
    tasks: int
    busy: float


@rule(
    RULE,
    message("Uneven placement"),
    message("One TaskManager runs far more tasks of the job than the others that the job runs on."),
    fed_by="windows/1.20.5-L2",
    needs=("vertex_windows",),
    lacking=LACKING,
    thresholds=(
        Threshold(
            RATIO,
            1.5,
            "times",
            1.1,
            1000.0,
            message(
                "Half more than the mean: all TaskManagers must be as large as the fullest one."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    # Tasks of a vertex that has ended have no TaskManager.
    expected_tasks = sum(
        vertex.parallelism or len(vertex.taskmanager_id)
        for vertex in window.vertex_windows
        if any(vertex.taskmanager_id)
    )
    counts = Counter(
        filter(None, chain.from_iterable(vertex.taskmanager_id for vertex in window.vertex_windows))
    )
    if not expected_tasks or counts.total() < REPORTING_SHARE * expected_tasks:
        raise NotJudged(LACKING)
    mean, most = counts.total() / len(counts), max(counts.values())
    if len(counts) > 1 and most >= limits[RATIO] * mean and most - mean >= EXTRA_TASKS:
        loads = _loads(window)
        fullest = max(loads, key=lambda load: (load.tasks, load.busy, load.taskmanager_id))
        yield _finding(window, limits, loads, fullest, mean)


def _loads(window: JobWindow) -> list[Load]:
    hosts: dict[str, str | None] = {}
    busy: dict[str, list[float]] = {}
    for vertex in window.vertex_windows:
        for subtask, taskmanager in enumerate(vertex.taskmanager_id):
            if taskmanager:
                hosts.setdefault(taskmanager, value(vertex.host, subtask))
                busy.setdefault(taskmanager, []).append(value(vertex.busy_ratio, subtask) or 0.0)
    return [Load(name, hosts[name], len(busy[name]), fsum(busy[name])) for name in sorted(busy)]


def _finding(
    window: JobWindow, limits: Limits, loads: list[Load], fullest: Load, mean: float
) -> Finding:
    # Load during a start or a rescaling says nothing about the load afterwards.
    mean_busy = 0.0 if has_start(window) else fsum(load.busy for load in loads) / len(loads)
    is_busiest = mean_busy > 0 and fullest.busy >= BUSY_RATIO * mean_busy
    limits_job = is_busiest and any(
        held_subtasks(vertex, limits[BACKPRESSURED]) for vertex in window.vertex_windows
    )
    evidence = [
        limits.evidence(
            message("tasks of the fullest TaskManager over the mean"), fullest.tasks / mean, RATIO
        )
    ]
    if mean_busy > 0:
        evidence.append(
            Evidence(
                message("busy time of the fullest over the mean"),
                fullest.busy / mean_busy,
                "times",
                BUSY_RATIO,
                ">=" if is_busiest else "<",
            )
        )
    return job_finding(
        window,
        RULE,
        "warning" if limits_job else "info",
        "high",
        title=message(
            "{where:name} runs {tasks:number} of {sum:number} tasks",
            where=fullest.host or fullest.taskmanager_id,
            tasks=fullest.tasks,
            sum=sum(load.tasks for load in loads),
        ),
        cause=_cause(loads, fullest, limits_job),
        next_step=_next_step(window),
        evidence=evidence,
        data={
            "taskmanager_id": fullest.taskmanager_id,
            "hosts": [fullest.host] if fullest.host else [],
            "tasks": {
                load.taskmanager_id: load.tasks
                for load in sorted(loads, key=lambda load: -load.tasks)[:20]
            },
        },
    )


def _cause(loads: list[Load], fullest: Load, limits_job: bool) -> str:
    other_tasks = [load.tasks for load in loads if load is not fullest]
    task_counts = (
        f"{min(other_tasks)}"
        if min(other_tasks) == max(other_tasks)
        else message("{min:number} to {max:number}", min=min(other_tasks), max=max(other_tasks))
    )
    busy = message(" It is the busiest too: the job waits for it.") if limits_job else ""
    return message(
        "Flink put {tasks:number} tasks on {host:name}; the other {words:message} "
        "{spread:name}.{busy:message}",
        tasks=fullest.tasks,
        host=fullest.host or fullest.taskmanager_id,
        words=message("one runs")
        if len(other_tasks) == 1
        else message("{others:number} TaskManagers run", others=len(other_tasks)),
        spread=task_counts,
        busy=busy,
    )


def _next_step(window: JobWindow) -> str:
    advice = message(
        "The job's placement page shows what is set, and the result of each placement rule."
    )
    if window.version is None:
        return advice
    setting = spreading_setting(window.version)
    if spreads(window.version, window.settings):
        done = message("{setting:text} is set already.", setting=setting)
        return join_messages((done, advice), " ")
    set_it = message(
        "Unless it is set, set {setting:text} for the cluster and restart the job.", setting=setting
    )
    return join_messages((set_it, advice), " ")
