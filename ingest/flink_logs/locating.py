"""Where the task of an event ran: executions learnt from deploy and task lines, joined to other events.

The Spark side of the same is ``spark_jobs.transforms.executions``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ingest.flink_logs.events import LogEvent


@dataclass(slots=True)
class Execution:
    """One attempt of one subtask, as far as lines told of it so far."""

    vertex_id: str | None = None
    task: str | None = None
    subtask: int | None = None
    parallelism: int | None = None
    attempt: int | None = None
    container: str | None = None
    host: str | None = None


_NAMES = ("vertex_id", "task", "subtask", "parallelism", "attempt", "container", "host")


def located(events: Iterable[LogEvent]) -> Iterator[LogEvent]:
    """The events in their order, each completed with what earlier lines told of its execution.

    Before 1.12 deploy lines have no attempt id: there the deploy line of the same task, subtask and attempt is
    meant, which the next task line with an id is joined to.
    """
    executions: dict[str, Execution] = {}
    unnamed: dict[tuple[str | None, int | None], LogEvent] = {}
    for event in events:
        if event.kind == "task_deployed" and not event.execution_id:
            unnamed[event.task, event.subtask] = event
        if not event.execution_id:
            yield event
            continue
        known = executions.setdefault(event.execution_id, Execution())
        for name in _NAMES:
            value = getattr(event, name)
            if value is not None and (getattr(known, name) is None or event.kind == "task_deployed"):
                setattr(known, name, value)
        deployed = unnamed.get((known.task, known.subtask)) if known.task and known.host is None else None
        if deployed:
            known.attempt, known.container, known.host = deployed.attempt, deployed.container, deployed.host
        missing = {name: getattr(known, name) for name in _NAMES if getattr(event, name) is None}
        yield replace(event, **missing)
