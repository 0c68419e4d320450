from collections.abc import Iterable, Iterator, Sequence

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.thread_dumps import own_method
from webapp.analyses.declaration import Action, analysis
from webapp.analyses.document import Block, Column, Document, Inputs, Note, NotKnown, Table, Verdict
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Text
from webapp.profiles.job_threads import DumpedTaskManager, JobThreads, ShownThread, job_threads

BLOCKED_FROM = 3
"""Consecutive dumps with a thread blocked at one place; a briefly held lock shows only once."""


class ThreadParameters(ListFilters):
    vertex = Text(about=message("id of a vertex: only its threads"))
    taskmanager = Text(about=message("id of a TaskManager: only its threads"))


@analysis(
    "threads",
    title="Threads",
    summary="what the threads of its tasks do, from thread dumps of its TaskManagers",
    tab="runtime",
    parameters=ThreadParameters,
    action=Action("threads-ask", "Dump these threads"),
)
def threads(job: JobCurrent, inputs: Inputs) -> Document:
    values = inputs.parameters.values
    vertex_id = str(values.get("vertex") or "")
    taskmanager_id = str(values.get("taskmanager") or "")
    dumps = job_threads(job, inputs.until, inputs.now, vertex_id, taskmanager_id)
    return Document(_verdict(dumps), tuple(_blocks(dumps, vertex_id)))


def _verdict(dumps: JobThreads) -> Verdict:
    if dumps.why:
        return Verdict("unknown", dumps.why)
    dumped = _dumped(dumps)
    deadlocks = [
        line for manager in dumped for line in (manager.row.deadlocks if manager.row else ())
    ]
    if deadlocks:
        return Verdict("crit", list_text(deadlocks))
    if not dumped:
        waits = list(dict.fromkeys(taskmanager.sentence for taskmanager in dumps.taskmanagers))
        return Verdict(
            "unknown", waits[0] if len(waits) == 1 else message("No dump was taken yet.")
        )
    blocked = [
        thread.thread.name
        for manager in dumped
        for thread in manager.task_threads
        if thread.thread.state == "BLOCKED" and thread.in_a_row >= BLOCKED_FROM
    ]
    if blocked:
        return Verdict(
            "warn",
            message(
                "{names:message}: blocked at the same place in {dumps:count} dumps in a row or more.",
                names=list_text(blocked),
                dumps=BLOCKED_FROM,
            ),
        )
    return Verdict(
        "done",
        plural(
            len(dumps.taskmanagers),
            "{dumped:count} of {taskmanagers:count} TaskManager was dumped.",
            "{dumped:count} of {taskmanagers:count} TaskManagers were dumped.",
            taskmanagers=len(dumps.taskmanagers),
            dumped=len(dumped),
        ),
    )


def _dumped(dumps: JobThreads) -> list[DumpedTaskManager]:
    return [
        taskmanager
        for taskmanager in dumps.taskmanagers
        if taskmanager.row and taskmanager.row.taken_at
    ]


def _blocks(dumps: JobThreads, vertex_id: str) -> Iterator[Block]:
    if dumps.why:
        yield NotKnown(
            "Where its tasks run is read from samples of minutes; a job that is collected has them."
        )
        return
    dumped = _dumped(dumps)
    if dumped:
        tasks = [thread for manager in dumped for thread in manager.task_threads]
        empty = message(
            "No thread has the name of a task of this job: the tasks ran elsewhere by then."
        )
        yield _threads("tasks", message("Tasks"), message("Task"), tasks, empty)
    yield _taskmanagers(dumps.taskmanagers)
    other_threads = [thread for manager in dumped for thread in manager.other_threads]
    if other_threads and not vertex_id:
        title = message("Other threads in the job's own code, or blocked")
        yield _threads("others", title, message("Thread"), other_threads)
    yield Note(
        "A dump shows one instant, and pauses all threads of the TaskManager for it. "
        "Request two or three dumps, some seconds apart: a thread at the same place each "
        "time is blocked or busy there. Before 1.17 Flink writes only eight frames of a "
        "stack; later, cluster.thread-dump.stacktrace-max-depth sets the number."
    )


def _threads(
    key: str, title: str, column_name: str, shown_threads: Iterable[ShownThread], empty: str = ""
) -> Table:
    """Blocked threads first, then threads in the job's own code; the longest first."""
    return Table.of(
        sorted(
            shown_threads,
            key=lambda shown: (
                shown.thread.state != "BLOCKED",
                own_method(shown.thread) is None,
                -shown.in_a_row,
            ),
        ),
        key,
        title,
        (
            Column("name", column_name, value="task"),
            Column("subtask", "Subtask", "number"),
            Column("does", "Does"),
            Column("in_a_row", "Dumps in a row", "count", "in which it was there"),
            Column(
                "state",
                "State",
                value=lambda shown: shown.thread.state.lower().replace("_", " "),
            ),
            Column("stack", "Stack", "stack", value=_stack),
            Column("taskmanager_id", "TaskManager", "mono"),
        ),
        empty=empty,
    )


def _stack(shown: ShownThread) -> str:
    frames = shown.thread.frames
    return "\n".join((*frames, "…") if shown.thread.is_cut else frames)


def _taskmanagers(managers: Sequence[DumpedTaskManager]) -> Table:
    return Table.of(
        managers,
        "taskmanagers",
        "TaskManagers",
        (
            Column("taskmanager_id", "TaskManager", "mono"),
            Column("host", "Host", "host"),
            Column(
                "tasks",
                "Tasks",
                "count",
                value=lambda manager: sum(map(len, manager.tasks.values())),
            ),
            Column("taken_at", "Dumped", "instant", value="row.taken_at"),
            Column(
                "left_out",
                "Left out",
                "count",
                "threads of Flink and the JVM",
                value=lambda manager: (
                    manager.row.threads_left_out if manager.row and manager.row.taken_at else None
                ),
            ),
            Column("asked", "What was asked", value="sentence"),
        ),
    )
