"""Configured and used memory of a TaskManager by part, its CPU time and garbage collection.

Parts and options are those of Flink's memory model (FLIP-49, FLIP-116) from 1.10 to 2.3. Used
native memory, such as RocksDB's, is unknown: only Flink's reservations are.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ingest.messages import message
from webapp.hosts.taskmanager_samples import Samples

Number = TypeVar("Number", int, float)
HOUR = timedelta(hours=1)
COLLECTION_PERIOD = timedelta(minutes=15)
"""Long enough for a garbage collection."""
HEAP = message("heap")
OFF_HEAP = message("off-heap")
NETWORK = message("network")
MANAGED = message("managed")
METASPACE = message("metaspace")
OVERHEAD = message("overhead")
OPTIONS: Mapping[str, str] = {
    HEAP: "taskmanager.memory.task.heap.size",
    OFF_HEAP: "taskmanager.memory.task.off-heap.size",
    NETWORK: "taskmanager.memory.network.max",
    MANAGED: "taskmanager.memory.managed.size",
    METASPACE: "taskmanager.memory.jvm-metaspace.size",
    OVERHEAD: "taskmanager.memory.jvm-overhead.max",
}
TIGHT_RATIO = 0.85
"""Share of the configured size."""
BUSY_GC_RATIO = 0.1
"""With a greater share of the time, the heap is too small at any usage."""
ROOM: Mapping[str, float] = {HEAP: 2.5, OFF_HEAP: 1.5, NETWORK: 1.5, METASPACE: 1.5}
"""The sufficient size, in multiples of the usage; of heap, of that after a collection."""
TIGHT_ROOM = 1.5
"""The advised size of a nearly full part, in multiples of its size."""
STEP_BYTES = 32 << 20
LEAST_SPARE_RATIO = 0.1


@dataclass(frozen=True)
class MemoryPart:
    """``used_bytes``: the maximum in the range; of heap, the maximum of the minima by quarter of an
    hour. ``suggested_bytes``: a sufficient size; None if it is unknown or as configured. ``state``:
    tight, ok, spare or unknown.
    """

    name: str
    configured_bytes: int | None
    used_bytes: int | None
    state: str
    suggested_bytes: int | None

    @property
    def option(self) -> str:
        return OPTIONS[self.name]

    @property
    def spare_bytes(self) -> int:
        if self.state != "spare":
            return 0
        return (self.configured_bytes or 0) - (self.suggested_bytes or 0)

    @property
    def used_ratio(self) -> float | None:
        if self.used_bytes is None or not self.configured_bytes:
            return None
        return self.used_bytes / self.configured_bytes


@dataclass(frozen=True)
class TaskManagerBudget:
    """``since``, ``at`` of the first and newest sample. ``job_slots``: slots by job, None before
    Flink 1.13. ``cpu_used``: cores, on average. ``cpu_allotted``: cores of all slots. ``gc_ratio``:
    share of time in collections, in the worst hour. ``physical_bytes`` of the machine.
    """

    cluster: str
    taskmanager_id: str
    host: str | None
    since: datetime
    at: datetime
    slots: int | None
    free_slots: int | None
    job_slots: Mapping[str, int] | None
    process_bytes: int | None
    cpu_allotted: float | None
    cpu_used: float | None
    gc_ratio: float | None
    parts: tuple[MemoryPart, ...]
    physical_bytes: int | None = None

    def share(self, job_id: str) -> float | None:
        """The job's share of the allocated slots; 0 if it has none."""
        if self.job_slots is None:
            return None
        return self.job_slots.get(job_id, 0) / max(sum(self.job_slots.values()), 1)


def budget(samples: Samples) -> TaskManagerBudget:
    """``samples`` of one TaskManager by time, at least one."""
    newest = samples[-1]
    slots = newest["allocated_slots"]
    jobs = None if slots is None else [slot["job_id"] for slot in slots]
    cores = [slot["cpu_cores"] for slot in slots or () if slot["cpu_cores"]]
    gc_ratio = _of_known(max, [_rate(hour, "gc_ms") for hour in _periods(samples, HOUR)])
    if gc_ratio is not None:
        # Concurrent collectors count the same time twice.
        gc_ratio = min(gc_ratio, 1.0)
    return TaskManagerBudget(
        newest["cluster"],
        newest["taskmanager_id"],
        newest["host"],
        samples[0]["ts"],
        newest["ts"],
        newest["slots"],
        newest["free_slots"],
        None if jobs is None else {job_id: jobs.count(job_id) for job_id in dict.fromkeys(jobs)},
        newest["process_memory_bytes"],
        sum(cores) / len(cores) * newest["slots"] if cores and newest["slots"] else None,
        cpu_used(samples),
        gc_ratio,
        tuple(_parts(samples, newest, gc_ratio)),
        newest.get("physical_memory_bytes"),
    )


def cpu_used(samples: Samples) -> float | None:
    """Cores in use, on average."""
    used = _rate(samples, "cpu_ms")
    loads = [
        row["cpu_load"] * row["cpu_cores"]
        for row in samples
        if row["cpu_load"] is not None and row["cpu_cores"]
    ]
    if used is not None:
        return used
    return sum(loads) / len(loads) if loads else None


def _parts(
    samples: Samples, newest: Mapping[str, Any], gc_ratio: float | None
) -> Iterable[MemoryPart]:
    heap = _part(
        HEAP,
        newest["heap_max_bytes"] or _sum(newest, "framework_heap_bytes", "task_heap_bytes"),
        _live_heap(samples),
    )
    if gc_ratio is not None and gc_ratio >= BUSY_GC_RATIO:
        heap = _tight(HEAP, heap.configured_bytes, heap.used_bytes)
    yield _keep_framework(heap, newest["framework_heap_bytes"])
    direct = [
        _subtract(row["direct_used_bytes"], row["network_memory_total_bytes"]) for row in samples
    ]
    off_heap = _part(
        OFF_HEAP,
        _sum(newest, "framework_off_heap_bytes", "task_off_heap_bytes"),
        _of_known(max, direct),
    )
    yield _keep_framework(off_heap, newest["framework_off_heap_bytes"])
    network = newest["network_memory_bytes"] or newest["network_memory_total_bytes"]
    yield _part(NETWORK, network, _most(samples, "network_memory_used_bytes"))
    managed, reserved = newest["managed_memory_bytes"], _most(samples, "managed_memory_used_bytes")
    # A user of managed memory reserves all of its slot's share, so its need is unknown.
    state = "ok"
    if managed is None or reserved is None:
        state = "unknown"
    elif managed and not reserved:
        state = "spare"
    yield MemoryPart(MANAGED, managed, reserved, state, 0 if state == "spare" else None)
    yield _part(
        METASPACE,
        newest["metaspace_max_bytes"] or newest["metaspace_bytes"],
        _most(samples, "metaspace_used_bytes"),
    )
    native = [_subtract(row["non_heap_used_bytes"], row["metaspace_used_bytes"]) for row in samples]
    yield MemoryPart(OVERHEAD, newest["overhead_bytes"], _of_known(max, native), "unknown", None)


def _part(name: str, configured: int | None, used: int | None) -> MemoryPart:
    if not configured or used is None:
        return MemoryPart(name, configured, used, "unknown", None)
    if used >= TIGHT_RATIO * configured:
        return _tight(name, configured, used)
    sufficient = _in_steps(used * ROOM[name])
    if configured - sufficient < LEAST_SPARE_RATIO * configured:
        return MemoryPart(name, configured, used, "ok", None)
    return MemoryPart(name, configured, used, "spare", sufficient)


def _tight(name: str, configured: int | None, used: int | None) -> MemoryPart:
    sufficient = None if configured is None else _in_steps(TIGHT_ROOM * configured)
    return MemoryPart(name, configured, used, "tight", sufficient)


def _in_steps(size: float) -> int:
    return max(-(-int(size) // STEP_BYTES), 1) * STEP_BYTES


def _keep_framework(part: MemoryPart, framework_bytes: int | None) -> MemoryPart:
    """Flink's own memory is not reduced."""
    suggested, configured = part.suggested_bytes, part.configured_bytes or 0
    if suggested is None or framework_bytes is None or suggested >= framework_bytes:
        return part
    if configured - framework_bytes >= LEAST_SPARE_RATIO * configured:
        return replace(part, state="spare", suggested_bytes=framework_bytes)
    return replace(part, state="ok", suggested_bytes=None)


def _live_heap(samples: Samples) -> int | None:
    """Heap after garbage collections; None before the first, since usage only grows until then."""
    periods = _periods(samples, COLLECTION_PERIOD)
    live_bytes = _of_known(max, [_least_heap(period) for period in periods])
    return _least_heap(samples) if live_bytes is None else live_bytes


def _least_heap(samples: Samples) -> int | None:
    counts = [row["gc_count"] for row in samples if row["gc_count"] is not None]
    if len(counts) < 2 or counts[-1] <= counts[0]:
        return None
    return _of_known(min, [row["heap_used_bytes"] for row in samples])


def _periods(samples: Samples, length: timedelta) -> Iterable[Samples]:
    end = samples[-1]["ts"]
    periods: dict[int, list[Mapping[str, Any]]] = {}
    for row in samples:
        periods.setdefault(int((end - row["ts"]) / length), []).append(row)
    return periods.values()


def _rate(samples: Samples, counter: str) -> float | None:
    """The rate of a counter in ms, per ms; None over a restart, which resets the counter."""
    rows = [row for row in samples if row[counter] is not None]
    if not rows:
        return None
    passed_ms = rows[-1]["ts"].timestamp() * 1000 - rows[0]["ts"].timestamp() * 1000
    grown_ms = rows[-1][counter] - rows[0][counter]
    return float(grown_ms / passed_ms) if passed_ms > 0 and grown_ms >= 0 else None


def _most(samples: Samples, name: str) -> int | None:
    return _of_known(max, [row[name] for row in samples])


def _of_known(
    pick: Callable[[list[Number]], Number], values: Iterable[Number | None]
) -> Number | None:
    known = [value for value in values if value is not None]
    return pick(known) if known else None


def _sum(row: Mapping[str, Any], *names: str) -> int | None:
    values = [row[name] for name in names]
    return None if None in values else sum(values)


def _subtract(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else max(whole - part, 0)
