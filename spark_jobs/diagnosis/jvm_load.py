"""Garbage collection and CPU of a JVM as a cause of busy tasks. A thread that waits for a
collection, a lock or an answer is busy in Flink's metrics, but uses no CPU.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence
from spark_jobs.diagnosis.pressure import value
from spark_jobs.diagnosis.samples import JobWindow, TaskManagerSample, VertexWindow

GC_RATIO = 0.1
"""A healthy JVM collects for a few percent of the time."""
LEAST_APART_MS = 5_000
NEARLY_ALL = 0.9
"""Of the processors that the JVM sees."""
HARDLY = 0.5
"""Of the busy threads."""


@dataclass(frozen=True)
class JvmLoad:
    """``gc_ratio``: share of time in collections; ``cpu_used``: busy processors."""

    taskmanager_id: str
    host: str | None
    gc_ratio: float | None
    cpu_used: float | None
    cpu_cores: float | None

    @property
    def where(self) -> str:
        return self.host or self.taskmanager_id


@dataclass(frozen=True)
class JvmCause:
    """``sentence`` and ``next_step`` are empty if the JVM explains nothing."""

    evidence: tuple[Evidence, ...] = ()
    sentence: str = ""
    next_step: str = ""


def _loads(window: JobWindow) -> Iterator[JvmLoad]:
    """Load of each TaskManager between two samples, the newer one in this window."""
    samples_by_name: dict[str, list[TaskManagerSample]] = {}
    for sample in sorted(window.taskmanagers, key=lambda sample: sample.at_ms):
        samples_by_name.setdefault(sample.taskmanager_id, []).append(sample)
    for name, samples in samples_by_name.items():
        newest = samples[-1]
        earlier = [
            sample for sample in samples[:-1] if sample.at_ms <= newest.at_ms - LEAST_APART_MS
        ]
        if newest.at_ms >= window.window_start_ms and earlier:
            gc, cpu = (_rate(earlier[-1], newest, counter) for counter in ("gc_ms", "cpu_ms"))
            # Concurrent collectors count the same time twice.
            gc = None if gc is None else min(gc, 1.0)
            yield JvmLoad(name, newest.host, gc, cpu, newest.cpu_cores)


def _rate(earlier: TaskManagerSample, later: TaskManagerSample, counter: str) -> float | None:
    before, after = getattr(earlier, counter), getattr(later, counter)
    if before is None or after is None or after < before:
        return None
    return float((after - before) / (later.at_ms - earlier.at_ms))


def taskmanager_of(
    vertices: Iterable[VertexWindow], vertex_id: str | None, subtask: int | None
) -> str | None:
    for vertex in vertices:
        if vertex.vertex_id == vertex_id and subtask is not None:
            return value(vertex.taskmanager_id, subtask)
    return None


def jvm_cause(window: JobWindow, busy: Mapping[str, float]) -> JvmCause:
    """The JVM that collects most, else the one with most busy threads. ``busy``: their number by
    TaskManager.
    """
    loads = [load for load in _loads(window) if load.taskmanager_id in busy]
    loads_with_gc = [load for load in loads if load.gc_ratio is not None]
    if not loads:
        return JvmCause()
    worst = max(
        loads_with_gc or loads,
        key=lambda load: (load.gc_ratio or 0, busy[load.taskmanager_id], load.taskmanager_id),
    )
    evidence = []
    is_collecting = worst.gc_ratio is not None and worst.gc_ratio >= GC_RATIO
    if worst.gc_ratio is not None:
        evidence.append(
            Evidence(
                message("{where:name} in collections", where=worst.where),
                worst.gc_ratio,
                "ratio",
                GC_RATIO,
                ">=" if is_collecting else "<",
            )
        )
    if worst.cpu_used is not None:
        note = (
            message("of {cpu_cores:number} that it sees", cpu_cores=worst.cpu_cores)
            if worst.cpu_cores
            else ""
        )
        evidence.append(
            Evidence(
                message("{where:name} processors used", where=worst.where),
                round(worst.cpu_used, 2),
                "count",
                note=note,
            )
        )
    next_step = ""
    if is_collecting:
        next_step = message(
            "First give {where:name} more heap, or create fewer objects: the job's resources page "
            "shows how much heap is in use after a garbage collection. ",
            where=worst.where,
        )
    sentence = _explain(worst, is_collecting, busy[worst.taskmanager_id])
    return JvmCause(tuple(evidence), sentence, next_step)


def _explain(load: JvmLoad, is_collecting: bool, busy: float) -> str:
    if is_collecting:
        return message(
            "The JVM of {where:name} collected garbage for {gc_ratio:share} of the time, which "
            "stops all its threads.",
            where=load.where,
            gc_ratio=load.gc_ratio or 0.0,
        )
    if load.cpu_used is None or busy <= 0:
        return ""
    if load.cpu_cores and load.cpu_used >= NEARLY_ALL * load.cpu_cores:
        return message(
            "The JVM of {where:name} used {cpu_used:decimal2} of the {cpu_cores:number} "
            "processors that it sees: there are no more.",
            where=load.where,
            cpu_used=load.cpu_used,
            cpu_cores=load.cpu_cores,
        )
    if load.cpu_used < HARDLY * busy:
        return message(
            "The whole JVM of {where:name} used {cpu_used:decimal2} processors while "
            "{busy:decimal1} of these threads were busy: they wait for something outside, "
            "a disk or a lock, or the machine has no CPU left for them.",
            where=load.where,
            cpu_used=load.cpu_used,
            busy=busy,
        )
    return ""
