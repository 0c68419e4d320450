"""The metrics that Weir reads, with every id that they have in Flink 1.12 to 2.3.

Each table maps a column to metric ids; the first id that has a value is used. Flink leaves unknown
ids out of its answer.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ingest.flink_rest.limits import MAX_PATH_BYTES
from ingest.flink_rest.versions import major

Names = dict[str, tuple[str, ...]]

# Only the flat group "buffers" is complete in old releases. 2.x does not have it.
SUBTASK_METRICS: Names = {
    "in_pool_usage": ("Shuffle.Netty.Input.Buffers.inPoolUsage", "buffers.inPoolUsage"),
    "out_pool_usage": ("Shuffle.Netty.Output.Buffers.outPoolUsage", "buffers.outPoolUsage"),
    "floating_usage": (
        "Shuffle.Netty.Input.Buffers.inputFloatingBuffersUsage",
        "buffers.inputFloatingBuffersUsage",
    ),
    "busy_ms_per_s": ("busyTimeMsPerSecond",),
    "backpressured_ms_per_s": ("backPressuredTimeMsPerSecond",),
    "idle_ms_per_s": ("idleTimeMsPerSecond",),
    "records_in_per_s": ("numRecordsInPerSecond",),
    "records_out_per_s": ("numRecordsOutPerSecond",),
    "watermark_ms": ("currentInputWatermark",),
}

SOURCE_METRICS: Names = {
    "pending_records": ("pendingRecords",),
    "records_lag_max": (
        "KafkaSourceReader.KafkaConsumer.records-lag-max",
        "KafkaConsumer.records-lag-max",
    ),
    "fetch_lag_ms": ("currentFetchEventTimeLag",),
    "emit_lag_ms": ("currentEmitEventTimeLag",),
    "watermark_lag_ms": ("watermarkLag",),
    "source_idle_ms": ("sourceIdleTime",),
}
"""Metrics of a source's operator. The id is the operator's name, a dot and one of these names. A
negative value is unknown. Source: FLIP-33, ``MetricNames`` and ``InternalSourceReaderMetricGroup``
of Flink 1.14 to 2.3, ``KafkaSourceReaderMetrics``.
"""
_SOURCE_COLUMNS = {
    spelling: column for column, spellings in SOURCE_METRICS.items() for spelling in spellings
}
_SOURCE_METRIC_ID = re.compile(rf".+\.({'|'.join(map(re.escape, _SOURCE_COLUMNS))})", re.DOTALL)

JOB_METRICS: Names = {"restarts": ("numRestarts", "fullRestarts")}

TASKMANAGER_METRICS: Names = {
    "managed_memory_used_bytes": ("Status.Flink.Memory.Managed.Used",),
    "heap_used_bytes": ("Status.JVM.Memory.Heap.Used",),
    "heap_max_bytes": ("Status.JVM.Memory.Heap.Max",),
    "non_heap_used_bytes": ("Status.JVM.Memory.NonHeap.Used",),
    "direct_used_bytes": ("Status.JVM.Memory.Direct.MemoryUsed",),
    "network_memory_total_bytes": ("Status.Shuffle.Netty.TotalMemory",),
    "network_memory_used_bytes": ("Status.Shuffle.Netty.UsedMemory",),
    "metaspace_used_bytes": ("Status.JVM.Memory.Metaspace.Used",),
    "metaspace_max_bytes": ("Status.JVM.Memory.Metaspace.Max",),
    "cpu_load": ("Status.JVM.CPU.Load",),
    "cpu_ns": ("Status.JVM.CPU.Time",),
}


@lru_cache(maxsize=10_000)
def source_column(metric_id: str) -> str | None:
    match = _SOURCE_METRIC_ID.fullmatch(metric_id)
    return _SOURCE_COLUMNS[match[1]] if match else None


def ids(names: Names) -> tuple[str, ...]:
    return tuple(spelling for spellings in names.values() for spelling in spellings)


def names_for(flink_version: str | None) -> tuple[str, ...]:
    """The shortest metric ids of this release, for few requests. Up to 1.20 there is the flat group
    ``buffers``; 2.x has only the long names.
    """
    return tuple(
        name
        for spellings in SUBTASK_METRICS.values()
        for name in _release_spellings(spellings, major(flink_version))
    )


def _release_spellings(spellings: tuple[str, ...], release: int | None) -> Iterator[str]:
    flat = [name for name in spellings if name.startswith("buffers.")]
    if release is None or not flat:
        yield from spellings
    elif release < 2:
        yield flat[0]
    else:
        yield from (name for name in spellings if name not in flat)


def subtask_paths(
    vertex_path: str, subtasks: Iterable[int], names: Sequence[str], prefix_bytes: int = 0
) -> list[str]:
    """``<vertex>/metrics?get=0.a,0.b,1.a…``, each path below Flink's limit."""
    parts = (",".join(f"{subtask}.{name}" for name in names) for subtask in subtasks)
    return packed_paths(f"{vertex_path}/metrics?get=", parts, prefix_bytes)


def packed_paths(head: str, parts: Iterable[str], prefix_bytes: int = 0) -> list[str]:
    paths: list[str] = []
    current = head
    for part in parts:
        if current != head and len(current) + 1 + len(part) > MAX_PATH_BYTES - prefix_bytes:
            paths.append(current)
            current = head
        current += part if current == head else f",{part}"
    return [*paths, current] if current != head else paths


def subtasks_per_request(names: Sequence[str], parallelism: int, path_bytes: int) -> int:
    chars_per_subtask = sum(len(name) + 2 + len(str(max(parallelism - 1, 0))) for name in names)
    return max(1, (MAX_PATH_BYTES - path_bytes) // max(1, chars_per_subtask))


def select_subtasks(parallelism: int, at_most: int, hottest: Sequence[int], turn: int) -> list[int]:
    """All subtasks if they fit. Else half are the hottest; others rotate with ``turn``."""
    if parallelism <= at_most:
        return list(range(parallelism))
    hot_subtasks = [subtask for subtask in hottest if 0 <= subtask < parallelism][: at_most // 2]
    hot_set = set(hot_subtasks)
    cooler = [subtask for subtask in range(parallelism) if subtask not in hot_set]
    room = at_most - len(hot_subtasks)
    start = (turn % math.ceil(len(cooler) / room)) * room
    return sorted(hot_subtasks + cooler[start : start + room])
