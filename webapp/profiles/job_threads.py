"""The TaskManagers of a job with their newest thread dumps, and the activity of its tasks."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.messages import message
from spark_jobs.diagnosis.thread_dumps import DumpedThread, own_method, sentence, task_of
from webapp.fleet.models import JobCurrent
from webapp.fleet.task_samples import read_samples
from webapp.profiles.models import ThreadDump
from webapp.profiles.models import ThreadDumpState as State
from webapp.profiles.thread_dump_requests import GIVE_UP_AFTER

log = logging.getLogger(__name__)

MOST_TASKMANAGERS = 1_000
_THREAD_FIELDS = DumpedThread.__dataclass_fields__


@dataclass(frozen=True)
class ShownThread:
    """``vertex_id``: None if the thread runs no task of the shown vertices. ``subtask``: 0-based.
    ``in_a_row``: the number of latest dumps that have the thread at the same place.
    """

    taskmanager_id: str
    thread: DumpedThread
    vertex_id: str | None
    task: str
    subtask: int | None
    does: str
    in_a_row: int


@dataclass(frozen=True)
class DumpedTaskManager:
    """``tasks``: sampled subtasks of the job, by vertex id. ``row``: None if no dump was requested.
    ``threads``: the job's tasks first. ``sentence``: why there is no new dump.
    """

    taskmanager_id: str
    host: str | None
    tasks: Mapping[str, Sequence[int]]
    row: ThreadDump | None
    threads: Sequence[ShownThread]
    sentence: str

    @property
    def task_threads(self) -> list[ShownThread]:
        return [thread for thread in self.threads if thread.vertex_id]

    @property
    def other_threads(self) -> list[ShownThread]:
        """Threads outside the shown tasks that are in users' code or blocked."""
        return [
            thread
            for thread in self.threads
            if not thread.vertex_id
            and (own_method(thread.thread) or thread.thread.state == "BLOCKED")
        ]


@dataclass(frozen=True)
class JobThreads:
    """``at``: when the tasks were sampled. ``why``: the reason if no TaskManager is known, else ""."""

    at: datetime | None
    taskmanagers: Sequence[DumpedTaskManager]
    why: str = ""

    @property
    def taskmanager_ids(self) -> list[str]:
        return [taskmanager.taskmanager_id for taskmanager in self.taskmanagers]


def job_threads(
    job: JobCurrent, at: datetime, now: datetime, vertex_id: str = "", taskmanager_id: str = ""
) -> JobThreads:
    """Makes one query, and reads samples of some minutes from the lake. Threads of one vertex or
    TaskManager if ``vertex_id`` or ``taskmanager_id`` is not empty.
    """
    tasks = sum(int(vertex.get("parallelism") or 0) for vertex in job.vertices.values())
    try:
        samples = read_samples(job.cluster, job.job_id, tasks, at)
    except Exception:  # The lake may raise any error.
        log.exception(
            "Where tasks of %s on %s run could not be read from the lake", job.job_id, job.cluster
        )
        why = message("The lake could not be read; the server's log has the reason.")
        return JobThreads(None, (), why)
    subtasks_of: dict[str, dict[str, list[int]]] = {}
    for vertex, sample in samples.vertices.items():
        for subtask, name in enumerate(sample.taskmanagers):
            if name is not None and vertex_id in ("", vertex) and taskmanager_id in ("", name):
                subtasks_of.setdefault(name, {}).setdefault(vertex, []).append(subtask)
    if not subtasks_of:
        why = message(
            "On which TaskManagers its tasks run is not known: no sample of the last minutes says "
            "so."
        )
        return JobThreads(None, (), why)
    vertex_ids = {
        _one_line(vertex.get("name")): key
        for key, vertex in job.vertices.items()
        if not vertex_id or key == vertex_id
    }
    shown_names = sorted(subtasks_of)[:MOST_TASKMANAGERS]
    rows = {
        row.taskmanager_id: row
        for row in ThreadDump.objects.filter(cluster=job.cluster, taskmanager_id__in=shown_names)
    }
    hosts = {name: manager.host for name, manager in samples.taskmanagers.items()}
    managers = [
        _taskmanager(name, hosts.get(name), subtasks_of[name], rows.get(name), vertex_ids, now)
        for name in shown_names
    ]
    return JobThreads(
        samples.at,
        sorted(managers, key=lambda manager: manager.row is None or manager.row.taken_at is None),
    )


def _taskmanager(
    name: str,
    host: str | None,
    tasks: Mapping[str, Sequence[int]],
    row: ThreadDump | None,
    vertex_ids: Mapping[str, str],
    now: datetime,
) -> DumpedTaskManager:
    if row is None:
        return DumpedTaskManager(name, host, tasks, None, (), message("No dump was asked for."))
    is_pending = row.ask_at is not None and row.wanted_at > now - GIVE_UP_AFTER
    threads = sorted(
        (_thread(name, thread, vertex_ids) for thread in row.threads),
        key=lambda thread: (not thread.vertex_id, thread.thread.name),
    )
    return DumpedTaskManager(name, host, tasks, row, threads, _sentence(row, is_pending))


def _thread(
    taskmanager_id: str, fields: Mapping[str, Any], vertex_ids: Mapping[str, str]
) -> ShownThread:
    thread = DumpedThread(**{key: fields[key] for key in _THREAD_FIELDS if key in fields})
    task = task_of(thread.name)
    vertex_id = vertex_ids.get(_one_line(task.task)) if task else None
    return ShownThread(
        taskmanager_id,
        thread,
        vertex_id,
        task.task if task else thread.name,
        task.subtask if task else None,
        sentence(thread),
        int(fields["in_a_row"]),
    )


def _one_line(name: object) -> str:
    return " ".join(str(name or "").split())


def _sentence(row: ThreadDump, is_pending: bool) -> str:
    newest = message(" The one shown was taken before.") if row.taken_at else ""
    if is_pending and row.asked == 0:
        return message(
            "A dump was requested; the next collect cycle asks Flink for it.{newest:message}",
            newest=newest,
        )
    if row.state == State.TAKEN:
        return ""
    if row.state == State.FAILED:
        again = message(" It is asked again.") if is_pending else ""
        return message(
            "Flink gave none: {note:text}{again:message}{newest:message}",
            note=row.note,
            again=again,
            newest=newest,
        )
    return message(
        "It was requested, but the cluster could not be asked since.{newest:message}", newest=newest
    )
