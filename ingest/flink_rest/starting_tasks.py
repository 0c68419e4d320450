"""Tasks that are slow to start, as one reading of a job shows them, and whose threads to dump for
that.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.errors import Skipped
from ingest.flink_rest.answers import JobAnswers
from ingest.flink_rest.payloads import vertices
from ingest.flink_rest.payloads.fields import Fields

SLOW_AFTER = timedelta(seconds=10)
"""Since its deployment began. What ``start.slow_phase`` calls slow is held up by as much."""
MOST_OF_A_JOB = 500
_STARTING = ("DEPLOYING", "INITIALIZING")


@dataclass(frozen=True, slots=True)
class StartingTask:
    """``vertex_name`` as Flink calls its threads; ``subtask`` 0-based; ``state``: DEPLOYING or
    INITIALIZING, at ``at``.

    Instants are those of the JobManager's clock.
    """

    job_id: str
    vertex_id: str
    vertex_name: str
    subtask: int
    taskmanager_id: str
    state: str
    deploying_at: datetime
    at: datetime


def slow_tasks(reading: JobAnswers) -> list[StartingTask]:
    """Those that were deployed ``SLOW_AFTER`` ago or earlier and do not run yet, longest first.

    A bad answer has none.
    """
    tasks = [task for vertex_id in reading.vertices for task in _of_vertex(reading, vertex_id)]
    return sorted(tasks, key=lambda task: (task.deploying_at, task.vertex_id, task.subtask))[
        :MOST_OF_A_JOB
    ]


def taskmanagers_of(tasks: Iterable[StartingTask], at_most: int) -> tuple[str, ...]:
    counted = Counter(task.taskmanager_id for task in tasks)
    return tuple(sorted(counted, key=lambda one: (-counted[one], one))[:at_most])


def _of_vertex(reading: JobAnswers, vertex_id: str) -> list[StartingTask]:
    answer = reading.vertices[vertex_id]
    try:
        placed, started = vertices.placements(answer.body), vertices.started(answer.body)
        payload = Fields(answer.body)
        name, at = payload.text("name") or "", payload.instant("now") or answer.at
    except Skipped:  # the reading of samples reports it
        return []
    return [
        StartingTask(
            reading.job_id,
            vertex_id,
            name,
            subtask,
            place.taskmanager_id,
            place.state or "",
            since,
            at,
        )
        for subtask, place in placed.items()
        if place.taskmanager_id is not None
        and place.state in _STARTING
        and (since := started[subtask].deploying_at) is not None
        and at - since >= SLOW_AFTER
    ]
