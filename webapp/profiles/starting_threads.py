"""What tasks did that were slow to start: kept from the dumps that cycles take of them, found again
by start and by finding.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ingest.flink_rest.starting_tasks import StartingTask
from ingest.flink_rest.thread_dumps import ThreadDumpAnswer
from ingest.redaction.texts import redact
from spark_jobs.diagnosis.thread_dumps import DumpedThread, has_started, sentence, task_of
from webapp.profiles.models import StartingThread, ThreadDump
from webapp.profiles.thread_dump_requests import shown_thread

MOST_FRAMES = 40
SHOWN = 30
CLOCKS_DIFFER_BY = timedelta(seconds=10)
"""Of the JobManager and of TaskManagers, whose logs may tell when a start ended."""
A_START = timedelta(hours=1)
"""A finding is seen when the last task ran; what began longer before is of another start."""


def keep_starting(
    cluster: str, tasks: Sequence[StartingTask], answers: Sequence[ThreadDumpAnswer]
) -> None:
    """The threads of these tasks, without those that had started by the time of the dump; and rows
    for their TaskManagers, so that their dumps are kept whole like those that users want.
    """
    taken = {answer.taskmanager_id: answer for answer in answers if answer.threads is not None}
    of_taskmanager: dict[str, list[StartingTask]] = {}
    for task in tasks:
        if task.taskmanager_id in taken:
            of_taskmanager.setdefault(task.taskmanager_id, []).append(task)
    starting_threads = []
    for taskmanager_id, of_it in of_taskmanager.items():
        answer = taken[taskmanager_id]
        ThreadDump.objects.get_or_create(
            cluster=cluster, taskmanager_id=taskmanager_id, defaults={"wanted_at": answer.at}
        )
        threads = _by_task(answer)
        starting_threads += [
            _row(cluster, task, threads[key])
            for task in of_it
            if (key := (_text(task.vertex_name), task.subtask)) in threads
        ]
    StartingThread.objects.bulk_create(starting_threads, ignore_conflicts=True)


def threads_at_start(
    cluster: str, job_id: str, at: datetime, running_at: datetime
) -> list[StartingThread]:
    """Of one start, from when it was scheduled until its last task ran; earliest dump first."""
    rows = StartingThread.objects.filter(
        cluster=cluster, job_id=job_id, deploying_at__gte=at, deploying_at__lte=running_at
    )
    return list(rows.order_by("at", "vertex", "subtask")[:SHOWN])


def before(
    cluster: str, job_id: str, seen_at: datetime, vertex_ids: Sequence[str]
) -> list[StartingThread]:
    """Of the last start before a finding was seen; of all vertices where none is named."""
    since = seen_at - A_START
    rows = StartingThread.objects.filter(
        cluster=cluster, job_id=job_id, at__gte=since, at__lte=seen_at + CLOCKS_DIFFER_BY
    )
    rows = rows.filter(vertex_id__in=vertex_ids) if vertex_ids else rows
    newest = rows.order_by("-at").first()
    if newest is None:
        return []
    begun = newest.deploying_at - CLOCKS_DIFFER_BY
    return list(rows.filter(deploying_at__gte=begun).order_by("at", "vertex", "subtask")[:SHOWN])


def _by_task(answer: ThreadDumpAnswer) -> dict[tuple[str, int], DumpedThread]:
    threads: dict[tuple[str, int], DumpedThread] = {}
    for thread in answer.threads or ():
        if (task := task_of(thread.name)) and not has_started(shown := shown_thread(thread)):
            threads.setdefault((_text(task.task), task.subtask), shown)
    return threads


def _row(cluster: str, task: StartingTask, thread: DumpedThread) -> StartingThread:
    return StartingThread(
        cluster=cluster,
        job_id=task.job_id,
        vertex_id=task.vertex_id,
        vertex=redact(task.vertex_name),
        subtask=task.subtask,
        taskmanager_id=task.taskmanager_id,
        state=task.state,
        deploying_at=task.deploying_at,
        at=task.at,
        sentence=sentence(thread),
        frames=list(thread.frames[:MOST_FRAMES]),
    )


def _text(name: str) -> str:
    return " ".join(name.split())
