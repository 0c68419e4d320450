from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from spark_jobs.diagnosis.samples import rule_kind
from spark_jobs.fold.retention import events_whole_from
from spark_jobs.fold.rows import Row, RowList, Rows, grouped

CLOCK_MS = 50
"""REST and log date the same change of state some milliseconds apart."""


class Task(NamedTuple):
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
"""The tasks of each start, by the instant at which scheduling began."""


_PLACE = ("attempt", "host", "container")
_STATES = {
    "task_deployed": "deploying",
    "task_state DEPLOYING": "deploying",
    "task_state INITIALIZING": "initializing",
    "task_state RUNNING": "running",
}


def latest(instants: Iterable[int], until: int) -> int | None:
    return max((at for at in instants if at <= until), default=None)


def tasks_by_rest(rows: Rows, begins: Sequence[int]) -> Tasks:
    attempts: dict[tuple[Any, ...], Task] = {}
    for row in rows:
        columns = [row[name] or () for name in _COLUMNS]
        for subtask, values in enumerate(zip(*columns, strict=False)):
            task = Task(row["vertex_id"], subtask, *values)
            if task.deploying_at is not None and task.running_at is not None:
                attempts[task.vertex_id, subtask, task.attempt] = task
    # A subtask may have been deployed again at an unknown time: its newest attempt counts.
    newest: dict[int, dict[tuple[str, int], Task]] = {}
    for task in sorted(attempts.values(), key=lambda task: task.deploying_at):
        at = latest(begins, task.deploying_at + CLOCK_MS)
        if at is not None:
            newest.setdefault(at, {})[task.vertex_id, task.subtask] = task
    return {at: [*tasks.values()] for at, tasks in newest.items()}


def tasks_by_log(events: Rows, remembered: RowList, begins: Sequence[int]) -> Tasks:
    """Tasks of starts by the JobManager's log, if it has the deployment and the RUNNING of all.
    TaskManagers log by their own clocks. ``remembered``: earlier events.
    """
    whole_from = events_whole_from(remembered)
    starts: dict[int, dict[tuple[Any, Any], Row]] = {}
    for process_events in grouped(events, "process").values():
        if not any(event["kind"] == "job_state" for event in process_events):
            continue
        for event in process_events:
            state = _STATES.get(rule_kind(event["kind"], event["to_state"]))
            if state is None or event["subtask"] is None:
                continue
            at = latest(begins, event["ts"] + CLOCK_MS)
            if at is not None and at >= whole_from:
                key = event["vertex_id"] or event["task"], event["subtask"]
                task = starts.setdefault(at, {}).setdefault(key, {})
                task[state] = event["ts"]
                task |= {name: event[name] for name in _PLACE if event[name] is not None}
    return {
        at: [_task(*key, task) for key, task in tasks.items()]
        for at, tasks in starts.items()
        if all(
            "deploying" in task and task.get("running", -1) >= task["deploying"]
            for task in tasks.values()
        )
    }


def _task(vertex: str, subtask: int, task: Mapping[str, Any]) -> Task:
    place = task.get("attempt"), task.get("host"), task.get("container")
    return Task(
        vertex, subtask, *place, None, task["deploying"], task.get("initializing"), task["running"]
    )
