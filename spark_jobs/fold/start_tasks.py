"""Tasks of a job's starts, from REST and the JobManager's log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from spark_jobs.diagnosis.samples import rule_kind
from spark_jobs.fold.retention import events_whole_from
from spark_jobs.fold.rows import Row, grouped

CLOCK_MS = 50
"""REST and log date the same change of state some milliseconds apart."""


class Task(NamedTuple):
    """Instants in epoch ms."""

    vertex_id: str
    subtask: int
    attempt: int | None
    host: str | None
    taskmanager_id: str | None
    scheduled_at: int | None
    deploying_at: int
    initializing_at: int | None
    running_at: int

    @property
    def slots_ms(self) -> int | None:
        return None if self.scheduled_at is None else self.deploying_at - self.scheduled_at

    @property
    def deploy_ms(self) -> int:
        return (
            self.running_at if self.initializing_at is None else self.initializing_at
        ) - self.deploying_at

    @property
    def restore_ms(self) -> int | None:
        return None if self.initializing_at is None else self.running_at - self.initializing_at

    @property
    def own_ms(self) -> int:
        return self.running_at - self.deploying_at


_COLUMNS = Task._fields[2:]
Tasks = dict[int, list[Task]]
"""By the instant at which scheduling began."""


_PLACE = ("attempt", "host", "container")
_STATES = {
    "task_deployed": "deploying",
    "task_state DEPLOYING": "deploying",
    "task_state INITIALIZING": "initializing",
    "task_state RUNNING": "running",
}


def latest(instants: Iterable[int], until: int) -> int | None:
    return max((at for at in instants if at <= until), default=None)


def answered(rows: Iterable[Row], begins: Sequence[int]) -> Tasks:
    attempts: dict[tuple[Any, ...], Task] = {}
    for row in rows:
        columns = [row[name] or () for name in _COLUMNS]
        for subtask, values in enumerate(zip(*columns, strict=False)):
            task = Task(row["vertex_id"], subtask, *values)
            if task.deploying_at is not None and task.running_at is not None:
                attempts[task.vertex_id, subtask, task.attempt] = task
    # The newest attempt of a subtask that was deployed again at an unknown time.
    newest: dict[int, dict[tuple[str, int], Task]] = {}
    for task in sorted(attempts.values(), key=lambda task: task.deploying_at):
        at = latest(begins, task.deploying_at + CLOCK_MS)
        if at is not None:
            newest.setdefault(at, {})[task.vertex_id, task.subtask] = task
    return {at: [*of_subtasks.values()] for at, of_subtasks in newest.items()}


def logged(events: Iterable[Row], remembered: Sequence[Row], begins: Sequence[int]) -> Tasks:
    """Of starts whose tasks were all seen to be deployed and to run, in the JobManager's log:
    TaskManagers also log task changes, by their own clocks. ``remembered``: events from an earlier
    run.
    """
    whole_from = events_whole_from(remembered)
    seen: dict[int, dict[tuple[Any, Any], dict[str, Any]]] = {}
    for of_process in grouped(events, "process").values():
        if not any(event["kind"] == "job_state" for event in of_process):
            continue
        for event in of_process:
            state = _STATES.get(rule_kind(event["kind"], event["to_state"]))
            if state is None or event["subtask"] is None:
                continue
            at = latest(begins, event["ts"] + CLOCK_MS)
            if at is not None and at >= whole_from:
                key = event["vertex_id"] or event["task"], event["subtask"]
                task = seen.setdefault(at, {}).setdefault(key, {})
                task[state] = event["ts"]
                task |= {name: event[name] for name in _PLACE if event[name] is not None}
    return {
        at: [_task(*key, task) for key, task in of_begin.items()]
        for at, of_begin in seen.items()
        if all(map(_ran, of_begin.values()))
    }


def _ran(task: Mapping[str, Any]) -> bool:
    return "deploying" in task and task.get("running", -1) >= task["deploying"]


def _task(vertex: str, subtask: int, seen: Mapping[str, Any]) -> Task:
    place = seen.get("attempt"), seen.get("host"), seen.get("container")
    return Task(
        vertex, subtask, *place, None, seen["deploying"], seen.get("initializing"), seen["running"]
    )
