from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import ceil
from statistics import median_low
from typing import Any

from spark_jobs.fold.checkpoint_log import Names
from spark_jobs.fold.start_tasks import Task

TASKS_NAMED = 100
NAME_CHARS = 200
"""Names of vertices may run to kilobytes."""
_PARTS = ("slots", "deploy", "restore")
_TASK_FIELDS = (
    *("vertex_id", "subtask", "attempt", "host", "taskmanager_id", "own_ms"),
    *(f"{part}_ms" for part in _PARTS),
)
STRAGGLES_RATIO, STRAGGLES_MS = 3, 1_000


def summary(tasks: Sequence[Task], names: Names) -> dict[str, Any]:
    by_vertex: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_vertex[task.vertex_id].append(task)
    straggling = {task for of_vertex in by_vertex.values() for task in _stragglers(of_vertex)}
    deployed_at = max(task.deploying_at for task in tasks)
    running_at = max(task.running_at for task in tasks)
    restoring = [task.initializing_at for task in tasks if task.initializing_at is not None]
    restoring_at = max(restoring) if len(restoring) == len(tasks) else None
    timely = [task.running_at for task in tasks if task not in straggling]
    named = max(ceil(len(tasks) / 100), len(straggling))
    slowest = sorted(tasks, key=lambda task: (-task.own_ms, task.vertex_id, task.subtask))
    return {
        "running_at": running_at,
        "deployed_at": deployed_at,
        "deploy_ms": (running_at if restoring_at is None else restoring_at) - deployed_at,
        "restore_ms": None if restoring_at is None else running_at - restoring_at,
        "tasks": len(tasks),
        "taskmanagers": len({task.taskmanager_id for task in tasks if task.taskmanager_id}) or None,
        "hosts": len({task.host for task in tasks if task.host}) or None,
        "stragglers": len(straggling),
        "held_up_ms": max(running_at - max(timely), 0) if straggling and timely else 0,
        "detail": {
            "slowest": [
                {
                    **{name: getattr(task, name) for name in _TASK_FIELDS},
                    "name": (names.get(task.vertex_id) or task.vertex_id)[:NAME_CHARS],
                    "straggles": task in straggling,
                }
                for task in slowest[: min(named, TASKS_NAMED)]
            ]
        },
    }


def _stragglers(tasks: Sequence[Task]) -> Iterator[Task]:
    usual_ms = median_low(task.own_ms for task in tasks)
    return (
        task
        for task in tasks
        if task.own_ms >= max(STRAGGLES_RATIO * usual_ms, usual_ms + STRAGGLES_MS)
    )
