"""Flink 2.3: no legacy exceptions, no ``host``, no flat metric group; vertex metrics asked all at
once.
"""

from functools import cache
from pathlib import Path

from ingest.recordings.recording import Recording
from ingest.records import (
    Checkpoint,
    Job,
    JobException,
    Skip,
    TaskManager,
    VertexCheckpoint,
    VertexMetrics,
)

RECORDING = Path(__file__).parent.parent.parent / "fixtures" / "rest" / "2.3.0"


@cache
def records():
    return tuple(
        record
        for readings, _ in Recording(RECORDING, "c").read()
        for reading in readings
        for record in reading.records
    )


def of_type(kind):
    return [record for record in records() if isinstance(record, kind)]


def test_nothing_is_skipped():
    assert of_type(Skip) == []


def test_the_job_tells_version_restarts_and_renamed_settings():
    first, last = of_type(Job)[0], of_type(Job)[-1]
    assert (first.flink_version, first.state, last.state) == (
        "2.3.0",
        "RUNNING",
        "CANCELED",
    )
    assert first.restarts >= 1
    assert {"execution.checkpointing.num-retained", "restart-strategy.type"} <= {
        setting.key for setting in first.configuration
    }
    assert [vertex.max_parallelism for vertex in first.vertices] == [128] * 4


def test_failures_name_task_and_taskmanager():
    newest = of_type(JobException)[0]
    assert newest.exception_name == "java.lang.IllegalStateException"
    assert newest.task.startswith("enrich (")
    assert newest.endpoint.startswith(newest.taskmanager_id.split(":")[0])


def test_samples_have_pools_times_hosts_and_attempts_of_every_subtask():
    samples = of_type(VertexMetrics)
    assert {sample.parallelism for sample in samples} == {1, 2}
    for sample in samples:
        assert all(
            None not in column
            for column in (sample.busy_ms_per_s, sample.in_pool_usage, sample.host, sample.attempt)
        )
        assert sample.watermark_ms is None
        assert sample.backpressured_ratio is not None


def test_checkpoints_and_their_subtasks_are_told():
    assert {record.status for record in of_type(Checkpoint)} >= {"COMPLETED"}
    assert all(record.checkpointed_bytes is not None for record in of_type(Checkpoint))
    assert all(
        record.subtask_unaligned is not None
        for record in of_type(VertexCheckpoint)
        if record.acknowledged
    )


def test_taskmanagers_have_memory_and_garbage_collection_once_flink_fetched_them():
    first, *_, last = of_type(TaskManager)
    assert first.heap_used_bytes is None
    assert last.heap_used_bytes > 0
    assert last.gc_count is not None
    assert last.host.startswith("flink-tm-")
