"""Where the task of an event ran, and of which job it is: taken from earlier lines, joined to later
ones.

A cycle does the same for all logs of a cluster: ``spark_jobs.steps.executions``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ingest.flink_logs.event_parser import GRAPH_CREATED
from ingest.flink_logs.events import LogEvent

_NAMES = ("job_id", "vertex_id", "task", "subtask", "parallelism", "attempt", "container", "host")


Execution = dict[str, Any]
"""One attempt of one subtask: what of ``_NAMES`` was logged of it."""


def located(events: Iterable[LogEvent]) -> Iterator[LogEvent]:
    """The events in their order, each completed with what earlier lines say of its execution.
    Before 1.12 deploy lines have no attempt id.
    """
    executions: dict[str, Execution] = {}
    newest: dict[tuple[str | None, int | None], Execution] = {}
    job_of_graph: dict[str, str] = {}
    for event in events:
        if event.kind == GRAPH_CREATED and event.execution_id and event.job_id:
            job_of_graph[event.execution_id] = event.job_id
            yield event
        elif not event.execution_id:
            if event.kind == "task_deployed" and (event.task, event.subtask) in newest:
                _update(newest[event.task, event.subtask], event)
            yield event
        else:
            known = executions.get(event.execution_id)
            if known is None:
                known = executions[event.execution_id] = {
                    "job_id": job_of_graph.get(event.execution_id.partition("_")[0])
                }
            _update(known, event)
            if known.get("task"):
                newest[known["task"], known.get("subtask")] = known
            missing: Execution = {
                name: known.get(name) for name in _NAMES if getattr(event, name) is None
            }
            yield replace(event, **missing)


def _update(known: Execution, event: LogEvent) -> None:
    """A deploy line is the best source; else what was logged first stays."""
    for name in _NAMES:
        value = getattr(event, name)
        if value is not None and (known.get(name) is None or event.kind == "task_deployed"):
            known[name] = value
