"""A TaskManager of 1.7 GB, sampled."""

from datetime import datetime

from ingest.records import AllocatedSlot, TaskManager

MIB = 1 << 20


def taskmanager(job_id: str, name: str, at: datetime, age: int) -> TaskManager:
    """``age`` in minutes: its heap is collected from sample to sample; two of its four slots belong
    to the job.
    """
    return TaskManager(
        name,
        f"host-{name}",
        at,
        slots=4,
        free_slots=2,
        cpu_cores=8.0,
        process_memory_bytes=1728 * MIB,
        managed_memory_bytes=512 * MIB,
        managed_memory_used_bytes=256 * MIB,
        heap_used_bytes=(150 + age) * MIB,
        heap_max_bytes=512 * MIB,
        non_heap_used_bytes=300 * MIB,
        direct_used_bytes=150 * MIB,
        network_memory_total_bytes=128 * MIB,
        network_memory_used_bytes=20 * MIB,
        gc_count=60 - age,
        gc_ms=9_000 - 300 * age,
        cpu_ms=900_000 - 30_000 * age,
        metaspace_used_bytes=240 * MIB,
        metaspace_max_bytes=256 * MIB,
        framework_heap_bytes=128 * MIB,
        task_heap_bytes=384 * MIB,
        framework_off_heap_bytes=128 * MIB,
        task_off_heap_bytes=0,
        network_memory_bytes=128 * MIB,
        metaspace_bytes=256 * MIB,
        overhead_bytes=192 * MIB,
        allocated_slots=(AllocatedSlot(job_id, 0.5), AllocatedSlot(job_id, 0.5)),
    )
