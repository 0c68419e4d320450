import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ingest.flink_rest.metric_names import TASKMANAGER_METRICS
from ingest.flink_rest.payloads import metrics
from ingest.flink_rest.payloads.fields import Fields, known_sum
from ingest.flink_rest.payloads.vertices import required_taskmanager_id
from ingest.records import AllocatedSlot, TaskManager

_HOST_OF_PATH = re.compile(r"@(.+):\d+/")
_GC_METRIC = re.compile(r"Status\.JVM\.GarbageCollector\.(.+)\.(Count|Time)")

# Column → field of "metrics". The metric endpoint has values that an answer lacks.
_DETAIL_METRICS = {
    "heap_used_bytes": "heapUsed",
    "heap_max_bytes": "heapMax",
    "non_heap_used_bytes": "nonHeapUsed",
    "direct_used_bytes": "directUsed",
    "network_memory_total_bytes": "nettyShuffleMemoryTotal",
    "network_memory_used_bytes": "nettyShuffleMemoryUsed",
}
# Column → field of "memoryConfiguration": bytes, as configured.
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
_BYTE_COLUMNS = tuple(name for name in TASKMANAGER_METRICS if name.endswith("_bytes"))


def entries(body: Any) -> list[tuple[str, Any]]:
    return Fields(body).items("taskmanagers")


def taskmanager(
    entry: Any, ts: datetime, metric_values: Mapping[str, Any] | None = None, place: str = ""
) -> TaskManager:
    fields = Fields(entry, place)
    hardware = fields.object("hardware") or Fields({})
    configured = fields.object("memoryConfiguration") or Fields({})
    detail = _collected_metrics(fields.object("metrics"))
    from_metrics = metrics.columns(dict(metric_values or {}), TASKMANAGER_METRICS)
    from_detail = {column: detail.integer(name) for column, name in _DETAIL_METRICS.items()}
    merged = {
        column: from_detail.get(column) if from_detail.get(column) is not None else _bytes(value)
        for column, value in from_metrics.items()
    }
    gc_count, gc_ms = _garbage_collection(detail, metric_values or {})
    return TaskManager(
        taskmanager_id=required_taskmanager_id(fields),
        host=_host(fields.text("path")),
        ts=ts,
        # Despite its name, this is an instant in every release.
        last_heartbeat=fields.instant("timeSinceLastHeartbeat"),
        slots=fields.integer("slotsNumber"),
        free_slots=fields.integer("freeSlots"),
        cpu_cores=hardware.real("cpuCores"),
        physical_memory_bytes=hardware.integer("physicalMemory"),
        managed_memory_bytes=hardware.integer("managedMemory"),
        cpu_load=from_metrics["cpu_load"],
        gc_count=gc_count,
        gc_ms=gc_ms,
        cpu_ms=None if (cpu_ns := from_metrics["cpu_ns"]) is None else int(cpu_ns) // 1_000_000,
        allocated_slots=_allocated_slots(fields),
        **{column: configured.integer(name) for column, name in _CONFIGURED.items()},
        **{column: merged[column] for column in _BYTE_COLUMNS},
    )


def _allocated_slots(fields: Fields) -> tuple[AllocatedSlot, ...] | None:
    if fields.raw("allocatedSlots") is None:
        return None
    return tuple(
        AllocatedSlot(
            slot.required_flink_id("jobId"),
            (slot.object("resource") or Fields({})).real("cpuCores"),
        )
        for slot in fields.objects("allocatedSlots")
    )


def _collected_metrics(detail: Fields | None) -> Fields:
    """Empty until Flink has metrics: before, it returns zeros, even for the heap."""
    return detail if detail and detail.integer("heapCommitted") else Fields({})


def _host(path: str | None) -> str | None:
    match = _HOST_OF_PATH.search(path or "")
    return match[1] if match else None


def _bytes(value: float | int | None) -> int | None:
    return None if value is None else int(value)


def _garbage_collection(
    detail: Fields, metric_values: Mapping[str, Any]
) -> tuple[int | None, int | None]:
    """(collections, ms) over all collectors. ``All`` (1.20+) is their sum, so it is left out."""
    collectors = [
        (gc.integer("count"), gc.integer("time"))
        for gc in detail.objects("garbageCollectors")
        if gc.text("name") != "All"
    ]
    if collectors:
        return known_sum(count for count, _ in collectors), known_sum(ms for _, ms in collectors)
    sums: dict[str, list[int | None]] = {"Count": [], "Time": []}
    for metric_id in metric_values:
        match = _GC_METRIC.fullmatch(metric_id)
        if match and match[1] != "All":
            sums[match[2]].append(_bytes(metrics.pick(dict(metric_values), (metric_id,))))
    return known_sum(sums["Count"]), known_sum(sums["Time"])
