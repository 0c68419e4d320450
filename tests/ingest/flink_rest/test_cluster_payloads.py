"""TaskManagers, configuration and versions."""

from datetime import UTC, datetime

from ingest.flink_rest.payloads import config, taskmanagers
from ingest.flink_rest.payloads.config import flink_version
from tests.ingest.recorded import AT, answers, body


def details(recording):
    return [
        answer.body
        for answer in answers(recording)
        if answer.path.startswith("/taskmanagers/") and "metrics" in answer.body
    ]


def settings(*pairs):
    return {
        found.key: found.value
        for found in config.cluster_settings([{"key": key, "value": value} for key, value in pairs])
    }


def test_the_last_heartbeat_is_an_instant_whatever_its_name_says():
    record = taskmanagers.taskmanager({"id": "tm", "timeSinceLastHeartbeat": 1795234753425}, AT)
    assert record.last_heartbeat == datetime(2026, 11, 21, 4, 19, 13, 425000, tzinfo=UTC)


def test_a_taskmanager_tells_host_memory_slots_and_garbage_collection():
    found = details("1.20.5/E")[-1]
    record = taskmanagers.taskmanager(found, AT)
    assert record.host == record.taskmanager_id.split(":")[0]
    assert record.heap_used_bytes == found["metrics"]["heapUsed"]
    assert record.network_memory_total_bytes == 67108864
    assert record.process_memory_bytes == found["memoryConfiguration"]["totalProcessMemory"]
    collectors = {gc["name"]: gc["time"] for gc in found["metrics"]["garbageCollectors"]}
    assert record.gc_ms == collectors["All"] == sum(collectors.values()) - collectors["All"] > 0
    configured = found["memoryConfiguration"]
    assert (record.task_heap_bytes, record.overhead_bytes) == (
        configured["taskHeap"],
        configured["jvmOverhead"],
    )


def test_each_slot_names_its_job_from_1_13_on():
    found = max(details("1.20.5/E"), key=lambda body: len(body["allocatedSlots"]))
    told = [
        (slot.job_id, slot.cpu_cores)
        for slot in taskmanagers.taskmanager(found, AT).allocated_slots
    ]
    assert (
        told
        == [(slot["jobId"], slot["resource"]["cpuCores"]) for slot in found["allocatedSlots"]]
        != []
    )
    assert taskmanagers.taskmanager(details("1.12.5/G")[-1], AT).allocated_slots is None


def test_zeros_before_the_first_metrics_arrived_are_unknown():
    first = details("1.20.5/E")[0]
    assert first["metrics"]["heapUsed"] == 0
    assert taskmanagers.taskmanager(first, AT).heap_used_bytes is None


def test_metrics_fill_in_what_a_detail_answer_lacks():
    values = {
        "Status.JVM.Memory.Heap.Used": "5",
        "Status.JVM.CPU.Load": "0.5",
        "Status.JVM.GarbageCollector.All.Count": "9",
        "Status.JVM.GarbageCollector.Copy.Count": "2",
        "Status.JVM.GarbageCollector.MarkSweep.Count": "1",
    }
    record = taskmanagers.taskmanager({"id": "tm"}, AT, values)
    assert (record.heap_used_bytes, record.cpu_load, record.gc_count) == (5, 0.5, 3)


def test_cpu_time_comes_in_nanoseconds_and_a_metaspace_without_limit_has_none():
    values = {
        "Status.JVM.CPU.Time": "4300000000",
        "Status.JVM.Memory.Metaspace.Used": "7",
        "Status.JVM.Memory.Metaspace.Max": "-1",
    }
    record = taskmanagers.taskmanager({"id": "tm"}, AT, values)
    assert (record.cpu_ms, record.metaspace_used_bytes, record.metaspace_max_bytes) == (
        4300,
        7,
        None,
    )


def test_a_host_may_be_an_address_of_version_6():
    record = taskmanagers.taskmanager(
        {"id": "tm", "path": "pekko.tcp://flink@[::1]:6122/user/rpc/taskmanager_0"}, AT
    )
    assert record.host == "[::1]"


def test_only_settings_that_explain_checkpoints_are_kept():
    assert settings(("state.backend", "rocksdb"), ("web.tmpdir", "/x"), ("rest.port", "8081")) == {
        "state.backend": "rocksdb"
    }


def test_secrets_are_masked_by_their_key_and_inside_uris():
    found = settings(
        ("state.backend.secret.thing", "hunter2"),
        ("state.checkpoints.dir", "s3://key:hunter2@bucket/x"),
        ("state.s3.access-key", "hunter2"),
    )
    assert "hunter2" not in str(found)
    assert found["state.backend.secret.thing"] == config.MASK


def test_recorded_settings_of_1_12_and_1_20_are_kept():
    for recording in ("1.12.5/G", "1.20.5/G"):
        found = {
            setting.key: setting.value
            for setting in config.cluster_settings(body(recording, "/jobmanager/config"))
        }
        assert found["state.backend.incremental"] == "true"
        assert found["taskmanager.numberOfTaskSlots"] == "4"


def test_an_interval_of_long_max_means_that_periodic_checkpoints_are_off():
    payload = body("1.20.5/E", "/checkpoints/config") | {"interval": 2**63 - 1}
    assert config.checkpoint_settings(payload)["checkpoint_interval_ms"] is None


def test_checkpoints_are_retained_where_they_are_externalized_and_not_deleted():
    found = config.checkpoint_settings(body("1.20.5/E", "/checkpoints/config"))
    assert found["retained_on_cancellation"] is True
    assert (found["checkpoint_interval_ms"], found["tolerable_failed_checkpoints"]) == (3000, 1000)
    assert found["state_backend"] == "EmbeddedRocksDBStateBackend"


def test_the_version_is_read_wherever_flink_tells_it():
    def tells(found):
        return "flink-version" in found

    assert flink_version(body("1.12.5/G", "/config", tells)) == "1.12.5"
    assert flink_version(body("1.12.5/G", "/overview", tells)) == "1.12.5"
    assert flink_version({"flink-version": "<unknown>"}) is None
