import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ingest.flink_rest.metric_names import TASKMANAGER_METRICS
from ingest.flink_rest.payloads import metrics
from ingest.flink_rest.payloads.fields import Fields
from ingest.flink_rest.payloads.vertices import the_taskmanager_id
from ingest.records import AllocatedSlot, TaskManager

_HOST_OF_PATH = re.compile(r"@(.+):\d+/")
_GC_METRIC = re.compile(r"Status\.JVM\.GarbageCollector\.(.+)\.(Count|Time)")

# Field of the "metrics" object → our column; the metric endpoint fills what an answer lacks.
_DETAIL_METRICS = {
    "heap_used_bytes": "heapUsed",
    "heap_max_bytes": "heapMax",
    "non_heap_used_bytes": "nonHeapUsed",
    "direct_used_bytes": "directUsed",
    "network_memory_total_bytes": "nettyShuffleMemoryTotal",
    "network_memory_used_bytes": "nettyShuffleMemoryUsed",
}
# Field of "memoryConfiguration" → our column: bytes, as configured.
_CONFIGURED = {
    "process_memory_bytes": "totalProcessMemory",
    "framework_heap_bytes": "frameworkHeap",
    "task_heap_bytes": "taskHeap",
    "framework_off_heap_bytes": "frameworkOffHeap",
    "task_off_heap_bytes": "taskOffHeap",
    "network_memory_bytes": "networkMemory",
    "metaspace_bytes": "jvmMetaspace",
    "overhead_bytes": "jvmOverhead",
}
_OF_BYTES = tuple(name for name in TASKMANAGER_METRICS if name.endswith("_bytes"))


def entries(body: Any) -> list[tuple[str, Any]]:
    return Fields(body).items("taskmanagers")


def taskmanager(
    entry: Any, ts: datetime, metric_values: Mapping[str, Any] | None = None, place: str = ""
) -> TaskManager:
    fields = Fields(entry, place)
    hardware = fields.object("hardware") or Fields({})
    configured = fields.object("memoryConfiguration") or Fields({})
    detail = _collected_metrics(fields.object("metrics"))
    measured = metrics.columns(dict(metric_values or {}), TASKMANAGER_METRICS)
    reported = {column: detail.whole(name) for column, name in _DETAIL_METRICS.items()}
    merged = {
        column: reported.get(column) if reported.get(column) is not None else _bytes(value)
        for column, value in measured.items()
    }
    gc_count, gc_ms = _garbage_collection(detail, metric_values or {})
    return TaskManager(
        taskmanager_id=the_taskmanager_id(fields),
        host=_host(fields.text("path")),
        ts=ts,
        # An instant in every release, despite its name.
        last_heartbeat=fields.instant("timeSinceLastHeartbeat"),
        slots=fields.whole("slotsNumber"),
        free_slots=fields.whole("freeSlots"),
        cpu_cores=hardware.real("cpuCores"),
        physical_memory_bytes=hardware.whole("physicalMemory"),
        managed_memory_bytes=hardware.whole("managedMemory"),
        cpu_load=measured["cpu_load"],
        gc_count=gc_count,
        gc_ms=gc_ms,
        cpu_ms=None if (cpu_ns := measured["cpu_ns"]) is None else int(cpu_ns) // 1_000_000,
        allocated_slots=_allocated_slots(fields),
        **{column: configured.whole(name) for column, name in _CONFIGURED.items()},
        **{column: merged[column] for column in _OF_BYTES},
    )


def _allocated_slots(fields: Fields) -> tuple[AllocatedSlot, ...] | None:
    if fields.raw("allocatedSlots") is None:
        return None
    return tuple(
        AllocatedSlot(
            slot.the_flink_id("jobId"), (slot.object("resource") or Fields({})).real("cpuCores")
        )
        for slot in fields.objects("allocatedSlots")
    )


def _collected_metrics(detail: Fields | None) -> Fields:
    """Empty until the first fetch: Flink answers zeros, even for the heap."""
    return detail if detail and detail.whole("heapCommitted") else Fields({})


def _host(path: str | None) -> str | None:
    """``flink-tm-1`` of ``pekko.tcp://flink@flink-tm-1:45381/user/rpc/taskmanager_0``."""
    match = _HOST_OF_PATH.search(path or "")
    return match[1] if match else None


def _bytes(value: float | int | None) -> int | None:
    return None if value is None else int(value)


def _garbage_collection(
    detail: Fields, metric_values: Mapping[str, Any]
) -> tuple[int | None, int | None]:
    """(collections, ms) over all collectors; ``All`` (1.20+) is their sum already."""
    collectors = [
        (gc.whole("count"), gc.whole("time"))
        for gc in detail.objects("garbageCollectors")
        if gc.text("name") != "All"
    ]
    if collectors:
        return _sum(count for count, _ in collectors), _sum(ms for _, ms in collectors)
    sums: dict[str, list[int | None]] = {"Count": [], "Time": []}
    for metric_id in metric_values:
        match = _GC_METRIC.fullmatch(metric_id)
        if match and match[1] != "All":
            sums[match[2]].append(_bytes(metrics.pick(dict(metric_values), (metric_id,))))
    return _sum(sums["Count"]), _sum(sums["Time"])


def _sum(numbers: Any) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
