"""Where the task of an event ran, and of which job it is: taken from earlier lines, joined to later ones.

The Spark side of the same is ``spark_jobs.transforms.executions``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ingest.flink_logs.events import LogEvent

GRAPH_CREATED = "execution_graph_created"
_NAMES = ("job_id", "vertex_id", "task", "subtask", "parallelism", "attempt", "container", "host")


@dataclass(slots=True)
class Execution:
    """One attempt of one subtask, as far as it was logged."""

    job_id: str | None = None
    vertex_id: str | None = None
    task: str | None = None
    subtask: int | None = None
    parallelism: int | None = None
    attempt: int | None = None
    container: str | None = None
    host: str | None = None

    def learn(self, event: LogEvent) -> None:
        """A deploy line knows best; else what was learnt first stays."""
        for name in _NAMES:
            value = getattr(event, name)
            if value is not None and (getattr(self, name) is None or event.kind == "task_deployed"):
                setattr(self, name, value)


def located(events: Iterable[LogEvent]) -> Iterator[LogEvent]:
    """The events in their order, each completed with what earlier lines say of its execution.

    Before 1.12 deploy lines have no attempt id: they mean the newest execution of that subtask.
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
                newest[event.task, event.subtask].learn(event)
            yield event
        else:
            known = executions.get(event.execution_id)
            if known is None:
                known = executions[event.execution_id] = Execution(job_id=job_of_graph.get(event.execution_id.partition("_")[0]))
            known.learn(event)
            if known.task:
                newest[known.task, known.subtask] = known
            yield replace(event, **{name: getattr(known, name) for name in _NAMES if getattr(event, name) is None})
