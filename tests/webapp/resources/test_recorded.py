"""What recorded jobs have of their TaskManagers and use of it, against Flink's raw answers."""

import re

import pytest

from tests.selections import mostly_long
from tests.webapp.placement.recorded import answers, taken_up
from webapp.analyses.document import Advice, Inputs, NotKnown
from webapp.analyses.registry import all_analyses
from webapp.analyses.resources.job_resources import look_up_resources

pytestmark = pytest.mark.django_db
OLD = "recordings/1.12.5/G"
LEAKING = "incidents/1.20.5/leaking"
FULL = "incidents/2.3.0/full-heap"
FULL_OLD = "incidents/1.20.5/full-heap"


def document_of(job):
    at = job.last_seen_at
    return all_analyses()["resources"].answer(job, Inputs(at, at, at))


def advice_on(job):
    return [
        line
        for block in document_of(job).blocks
        if isinstance(block, Advice)
        for line in block.lines
    ]


def told(recording, job_id):
    """By TaskManager: (time, detail answer, metrics) while the job had slots there, in order of
    time.
    """
    found, values = {}, {}
    for one in answers(recording):
        if matched := re.fullmatch(r"/taskmanagers/([^/?]+)/metrics\?get=.*", one["path"]):
            values.setdefault((matched[1], round(one["ts"])), {}).update(
                {metric["id"]: metric["value"] for metric in one["body"]}
            )
    for one in answers(recording):
        if matched := re.fullmatch(r"/taskmanagers/([^/?]+)", one["path"]):
            slots = one["body"].get("allocatedSlots")
            if slots is None or any(slot["jobId"] == job_id for slot in slots):
                found.setdefault(matched[1], []).append(
                    (one["ts"], one["body"], values.get((matched[1], round(one["ts"])), {}))
                )
    return found


def measured(samples, name):
    return [body["metrics"][name] for _, body, _ in samples if body["metrics"]["heapCommitted"]]


@pytest.mark.parametrize("recording", mostly_long([OLD, FULL, LEAKING, FULL_OLD], short=2))
def test_each_part_is_what_flink_configured_and_measured(recording, home):
    (job,) = taken_up(recording, home)
    raw = told(recording, job.job_id)
    found = look_up_resources(job)
    assert {one.taskmanager_id for one in found.taskmanagers} == set(raw)
    for one in found.taskmanagers:
        samples, parts = raw[one.taskmanager_id], {part.name: part for part in one.parts}
        configured = samples[-1][1]["memoryConfiguration"]
        assert (
            parts["off-heap"].configured_bytes
            == configured["frameworkOffHeap"] + configured["taskOffHeap"]
        )
        assert [parts[name].configured_bytes for name in ("network", "managed", "overhead")] == [
            configured[name] for name in ("networkMemory", "managedMemory", "jvmOverhead")
        ]
        assert one.process_bytes == configured["totalProcessMemory"]
        assert parts["heap"].used_bytes == min(measured(samples, "heapUsed"))
        assert parts["network"].used_bytes == max(measured(samples, "nettyShuffleMemoryUsed"))
        direct = zip(
            measured(samples, "directUsed"),
            measured(samples, "nettyShuffleMemoryTotal"),
            strict=True,
        )
        assert parts["off-heap"].used_bytes == max(used - network for used, network in direct)
        metaspace = [
            int(metrics[name])
            for _, _, metrics in samples
            if (name := "Status.JVM.Memory.Metaspace.Used") in metrics
        ]
        assert parts["metaspace"].used_bytes == max(metaspace)


def collected_ms(body):
    """1.20 and later list their sum beside the collectors."""
    times = {one["name"]: one["time"] for one in body["metrics"]["garbageCollectors"]}
    return times.get("All", sum(times.values()))


@pytest.mark.parametrize("recording", [FULL, FULL_OLD])
def test_a_heap_that_is_collected_most_of_the_time_is_close_to_its_limit(recording, home):
    (job,) = taken_up(recording, home)
    found, raw = look_up_resources(job), told(recording, job.job_id)
    for one in found.taskmanagers:
        known = [
            sample for sample in raw[one.taskmanager_id] if sample[1]["metrics"]["heapCommitted"]
        ]
        first, last = known[0], known[-1]
        took_ms = (last[0] - first[0]) * 1000
        assert one.gc_ratio == pytest.approx(
            (collected_ms(last[1]) - collected_ms(first[1])) / took_ms, rel=0.01
        )
        assert one.gc_ratio > 0.2
        name = "Status.JVM.CPU.Time"
        used = [(at, int(metrics[name]) / 1e9) for at, _, metrics in known if name in metrics]
        assert one.cpu_used == pytest.approx(
            (used[-1][1] - used[0][1]) / (used[-1][0] - used[0][0]), rel=0.01
        )
    assert "heap" in [part.name for part in found.tight]
    assert document_of(job).verdict.tone == "warn"
    why, settings, total = advice_on(job)
    assert why.startswith("Too little heap: collections take ")
    assert settings == "Set taskmanager.memory.task.heap.size to 288m (now 160m)."
    assert total.startswith("Set together: Flink then derives ")


def test_what_is_not_used_is_its_share_of_all_taskmanagers_by_slots(home):
    (job,) = taken_up(LEAKING, home)
    found, raw = look_up_resources(job), told(LEAKING, job.job_id)
    slots = [samples[-1][1]["allocatedSlots"] for samples in raw.values()]
    assert found.slots == sum(map(len, slots))
    assert found.cpu_allotted == sum(
        slot["resource"]["cpuCores"] for of_one in slots for slot in of_one
    )
    live = max(min(measured(samples, "heapUsed")) for samples in raw.values())
    heap = next(part for part in found.parts if part.name == "heap")
    assert heap.suggested_bytes >= 2.5 * live
    assert found.unused_bytes == heap.spare_bytes * len(raw)


def test_minutes_of_samples_lower_nothing(home):
    (job,) = taken_up(LEAKING, home)
    assert not advice_on(job)
    reasons = [block.reason for block in document_of(job).blocks if isinstance(block, NotKnown)]
    assert any("samples of 1 h of the last day were read" in reason for reason in reasons)


def test_before_1_13_nobody_knows_whose_slots_are(home):
    (job,) = taken_up(OLD, home)
    assert look_up_resources(job).slots is None
    reasons = [block.reason for block in document_of(job).blocks if isinstance(block, NotKnown)]
    assert reasons[0].startswith("Flink before 1.13 does not say whose slots are")


def test_each_part_of_memory_has_a_row_with_its_option(home):
    (job,) = taken_up(LEAKING, home)
    found, document = look_up_resources(job), document_of(job)
    memory = next(table for table in document.tables if table.key == "memory")
    keys = [column.key for column in memory.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in memory.rows]
    assert [(row["part"], row["used_bytes"], row["option"]) for row in rows] == [
        (part.name, part.used_bytes, part.option) for part in found.parts
    ]


def test_the_resources_of_a_job_without_samples_are_unknown(home):
    (job,) = taken_up(LEAKING, home)
    job.cluster = "elsewhere"
    verdict = document_of(job).verdict
    assert (verdict.tone, verdict.sentence) == ("unknown", "No TaskManager was sampled")
