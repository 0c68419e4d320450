"""Reads a thread dump of a TaskManager: tasks, what threads wait for, deadlocks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.messages import list_text, message
from spark_jobs.diagnosis.stack_traces import is_own

_TASK = re.compile(
    r"(?!OutputFlusher for |(?:System )?Time Trigger for |Channel state writer )(?:Legacy Source "
    r"Thread - )?"
    r"(?P<task>.*) \((?P<subtask>\d{1,9})/\d{1,9}\)(?:#\d{1,9})?$"
)
"""Flink's name of a task's thread, before 1.13 without the attempt. Threads that serve a task begin
with a name of their own.
"""
WAITS_FOR_WORK = "org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl.take"
_NATIVE_BACKEND = "org.rocksdb."
_BUFFER = "org.apache.flink.runtime.io.network.buffer.LocalBufferPool.requestMemorySegmentBlocking"
_MAILBOX = (
    WAITS_FOR_WORK,
    "org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor.runMailboxStep",
)
_CHECKPOINT = (
    "snapshotState",
    "performCheckpoint",
    "takeSnapshotSync",
    "AsyncCheckpointRunnable.run",
    "checkpointState",
    "notifyCheckpointComplete",
)
_WAITING_METHODS = (
    "java.lang.Thread.sleep",
    "java.lang.Thread.sleep0",
    "java.lang.Object.wait",
    "java.lang.Object.wait0",
    "jdk.internal.misc.Unsafe.park",
    "sun.misc.Unsafe.park",
)
_IDLE, _BLOCKED = message("waits for work"), message("is blocked")


@dataclass(frozen=True)
class DumpedThread:
    """``frames``: 'a.B.method:line', innermost first. ``owner``: the thread that holds ``lock``."""

    name: str
    number: int
    state: str
    lock: str = ""
    owner: str = ""
    owner_number: int | None = None
    frames: Sequence[str] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class TaskName:
    task: str
    subtask: int


def task_of(name: str) -> TaskName | None:
    match = _TASK.match(name)
    return TaskName(match["task"], int(match["subtask"]) - 1) if match else None


def own_method(thread: DumpedThread) -> str | None:
    own_frames = filter(is_own, thread.frames)
    methods = (method_of(frame) for frame in own_frames if not frame.startswith(_NATIVE_BACKEND))
    return next(methods, None)


def in_checkpoint(thread: DumpedThread) -> bool:
    return any(method_of(frame).endswith(_CHECKPOINT) for frame in thread.frames)


def doing(thread: DumpedThread) -> str:
    methods = [method_of(frame) for frame in thread.frames]
    if any(method.startswith(_BUFFER) for method in methods):
        return message("waits for room in its output")
    if thread.state == "BLOCKED":
        return _BLOCKED
    if any(method.startswith(_NATIVE_BACKEND) for method in methods[:2]):
        return message("is in RocksDB")
    if (
        own_method(thread) is None
        and any(method in _MAILBOX for method in methods)
        and thread.state != "RUNNABLE"
    ):
        return _IDLE
    is_waiting = thread.state != "RUNNABLE" or (methods and methods[0] in _WAITING_METHODS)
    return message("waits") if is_waiting else message("runs")


def sentence(thread: DumpedThread) -> str:
    activity = doing(thread)
    if activity == _IDLE:
        return activity
    own_name = own_method(thread)
    innermost = method_of(thread.frames[0]) if thread.frames else ""
    method, lock = own_name or innermost, ""
    if activity == _BLOCKED:
        lock = message(" by {lock:name}", lock=thread.lock or message("a lock"))
    return message(
        "{what:message}{where:message}{calling:message}{lock:message}{held:message}"
        "{checkpoint:message}",
        what=activity,
        where=message(" in {method:name}", method=method) if method else "",
        calling=message(", calling {innermost:name}", innermost=innermost)
        if own_name and innermost != own_name
        else "",
        lock=lock,
        held=message(", held by {owner:name}", owner=thread.owner) if thread.owner else "",
        checkpoint=message(", for a checkpoint") if in_checkpoint(thread) else "",
    )


def deadlocks(threads: Sequence[DumpedThread]) -> list[tuple[DumpedThread, ...]]:
    """Cycles: each thread waits for a lock that the next one holds."""
    by_number = {thread.number: thread for thread in threads}
    cycles, visited = [], set[int]()
    for thread in threads:
        path: list[int] = []
        number: int | None = thread.number
        while number in by_number and number not in path and number not in visited:
            path.append(number)
            number = by_number[number].owner_number
        if number in path:
            cycle = path[path.index(number) :]
            if len(cycle) > 1:
                cycles.append(tuple(by_number[member] for member in cycle))
        visited.update(path)
    return cycles


def deadlock_sentence(cycle: Sequence[DumpedThread]) -> str:
    names = list_text([thread.name for thread in cycle])
    return message(
        "Deadlock: {names:name} wait for locks of each other and none can continue; restart the "
        "TaskManager.",
        names=names,
    )


def place_of(thread: DumpedThread) -> str:
    """The thread's own method, else its innermost two. Line numbers change while a loop runs."""
    method = own_method(thread)
    return method or " < ".join(method_of(frame) for frame in thread.frames[:2])


def in_a_row(thread: DumpedThread, previous: Mapping[str, tuple[str, int]]) -> int:
    """In how many successive dumps the thread is at this place. ``previous``: place and number at
    the last dump, by thread.
    """
    place, count = previous.get(thread.name, ("", 0))
    return count + 1 if place == place_of(thread) else 1


def method_of(frame: str) -> str:
    method, colon, line = frame.rpartition(":")
    return method if colon and line.lstrip("-").isdigit() else frame
