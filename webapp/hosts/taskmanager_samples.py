from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from webapp.work.lake import read_newest

LOOK_BACK = timedelta(hours=1)
DAY = timedelta(days=1)
MOST_SAMPLES = 100_000
COLUMNS = (
    "cluster",
    "taskmanager_id",
    "ts",
    "host",
    "slots",
    "free_slots",
    "cpu_cores",
    "physical_memory_bytes",
    "process_memory_bytes",
    "managed_memory_bytes",
    "managed_memory_used_bytes",
    "heap_used_bytes",
    "heap_max_bytes",
    "non_heap_used_bytes",
    "direct_used_bytes",
    "network_memory_total_bytes",
    "network_memory_used_bytes",
    "cpu_load",
    "gc_count",
    "gc_ms",
    "cpu_ms",
    "metaspace_used_bytes",
    "metaspace_max_bytes",
    "framework_heap_bytes",
    "task_heap_bytes",
    "framework_off_heap_bytes",
    "task_off_heap_bytes",
    "network_memory_bytes",
    "metaspace_bytes",
    "overhead_bytes",
    "allocated_slots",
)

Samples = Sequence[Mapping[str, Any]]


def has_slots(row: Mapping[str, Any], job_id: str) -> bool:
    return any(slot["job_id"] == job_id for slot in row["allocated_slots"] or ())


def read_taskmanagers(
    where: Mapping[str, str], start: datetime, end: datetime, limit: int = MOST_SAMPLES
) -> tuple[dict[tuple[str, str], Samples], datetime]:
    """Samples by cluster and TaskManager, and their begin: later than requested if they are more
    than ``limit``. Raises the storage's errors.
    """
    rows, since = read_newest("taskmanagers", where, start, end, COLUMNS, limit)
    rows_of: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: row["ts"]):
        rows_of.setdefault((row["cluster"], row["taskmanager_id"]), []).append(row)
    return dict(rows_of), since
