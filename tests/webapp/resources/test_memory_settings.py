"""Memory settings that are advised are ones that Flink starts with, and derives what was wanted
from: against sizes that real TaskManagers reported.
"""

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest

from tests.webapp.placement.recorded import answers
from tests.webapp.resources.builders import MIB, taskmanager
from webapp.analyses.resources.job_resources import (
    current_samples,
    memory_advice,
    observe,
    present_ids,
    resources_of,
)
from webapp.hosts.memory_budget import HEAP, MANAGED, METASPACE, NETWORK, OFF_HEAP, OVERHEAD, budget
from webapp.hosts.process_memory import Refused, derived_sizes, settings_for
from webapp.lib.flink_values import size_bytes

JOB, AT = "a" * 32, datetime(2026, 3, 4, 12, tzinfo=UTC)
PROCESS, FLINK = "taskmanager.memory.process.size", "taskmanager.memory.flink.size"
OWN = {PROCESS: "1728m"}
"""Of Flink's own configuration file."""
LOGGED = {
    HEAP: 536870902,
    OFF_HEAP: 134217728,
    NETWORK: 134217730,
    MANAGED: 536870920,
    METASPACE: 268435456,
    OVERHEAD: 201326592,
}
"""What TaskManagers log with it as their final memory configuration."""


@pytest.mark.parametrize("configuration", [OWN, {FLINK: "1280m"}, {FLINK: "1280m", **OWN}])
def test_sizes_are_those_that_flink_logs_to_the_byte(configuration):
    assert derived_sizes(configuration, "1.20.5") == LOGGED


@pytest.mark.parametrize(
    "recording", ["recordings/1.12.5/G", "incidents/1.20.5/leaking", "incidents/2.3.0/full-heap"]
)
def test_sizes_are_those_that_recorded_taskmanagers_reported(recording):
    told = answers(recording)
    configuration = {
        setting["key"]: setting["value"]
        for setting in next(one for one in told if one["path"] == "/jobmanager/config")["body"]
    }
    reported = next(
        one["body"]["memoryConfiguration"]
        for one in told
        if re.fullmatch(r"/taskmanagers/[^/?]+", one["path"])
    )
    assert derived_sizes(configuration, "1.20.5") == {
        HEAP: reported["frameworkHeap"] + reported["taskHeap"],
        OFF_HEAP: reported["frameworkOffHeap"] + reported["taskOffHeap"],
        NETWORK: reported["networkMemory"],
        MANAGED: reported["managedMemory"],
        METASPACE: reported["jvmMetaspace"],
        OVERHEAD: reported["jvmOverhead"],
    }


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {PROCESS: "400m"},
        {**OWN, "taskmanager.memory.network.max": "32m"},
        {**OWN, "taskmanager.memory.managed.size": "2g"},
        {**OWN, "taskmanager.memory.task.heap.size": "900m"},
        {**OWN, FLINK: "1700m"},
        {**OWN, "taskmanager.memory.managed.fraction": "most"},
        {PROCESS: "1.5 GiB"},
    ],
)
def test_settings_that_no_taskmanager_starts_with_are_refused(configuration):
    with pytest.raises(Refused):
        derived_sizes(configuration, "1.20.5")


def test_network_memory_has_no_limit_by_default_since_1_17():
    large = {FLINK: "40g"}
    assert derived_sizes(large, "1.16.3")[NETWORK] == 1 << 30
    assert derived_sizes(large, "1.17.0")[NETWORK] > 4 << 30


@pytest.mark.parametrize(
    "configuration",
    [
        OWN,
        {FLINK: "1280m"},
        {**OWN, "taskmanager.memory.network.fraction": "0.2"},
        {**OWN, "taskmanager.memory.network.min": "256m"},
        {**OWN, "taskmanager.memory.managed.fraction": "0.1"},
        {
            "taskmanager.memory.task.heap.size": "384m",
            "taskmanager.memory.managed.size": "512m",
            "taskmanager.memory.task.off-heap.size": "64m",
        },
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        {HEAP: 300 * MIB},
        {HEAP: 1024 * MIB},
        {NETWORK: 96 * MIB, METASPACE: 128 * MIB},
        {MANAGED: 0, HEAP: 256 * MIB},
        {METASPACE: 384 * MIB},
    ],
)
def test_flink_derives_what_is_wanted_from_the_settings_that_are_advised(configuration, change):
    wanted = {**derived_sizes(configuration, "1.20.5"), **change}
    changed = settings_for(wanted, configuration, "1.20.5")
    assert changed is not None
    derived = derived_sizes({**configuration, **changed}, "1.20.5")
    for name, size in wanted.items():
        assert size <= derived[name] < size + 7 * MIB
    for end in ("network", "jvm-overhead"):
        both = {**configuration, **changed}
        least = size_bytes(both.get(f"taskmanager.memory.{end}.min"), 0)
        assert least <= size_bytes(both.get(f"taskmanager.memory.{end}.max"), 1 << 60)


def day(hours=24, peak=3.0, sizes=LOGGED, **values):
    """Samples of a TaskManager of these sizes, every ten minutes, busier at noon."""
    rows, cpu_ms = [], 0.0
    for minute in range(0, hours * 60, 10):
        at = AT - timedelta(minutes=hours * 60 - 10 - minute)
        cpu_ms += 60_000 * (peak if at.hour == 6 else 1.0)
        row = asdict(taskmanager(JOB, "tm-1", at, 0))
        row |= {
            "cluster": "prod",
            "cpu_ms": round(cpu_ms),
            "gc_count": minute,
            "gc_ms": minute * 10,
            "process_memory_bytes": sum(sizes.values()),
            "heap_max_bytes": sizes[HEAP],
            "task_heap_bytes": sizes[HEAP] - 128 * MIB,
            "managed_memory_bytes": sizes[MANAGED],
            "network_memory_bytes": sizes[NETWORK],
            "network_memory_total_bytes": sizes[NETWORK],
            "task_off_heap_bytes": sizes[OFF_HEAP] - 128 * MIB,
            "metaspace_bytes": sizes[METASPACE],
            "metaspace_max_bytes": sizes[METASPACE],
            "overhead_bytes": sizes[OVERHEAD],
            "metaspace_used_bytes": 100 * MIB,
            "heap_used_bytes": (150 if at.hour == 6 else 60) * MIB,
            "physical_memory_bytes": 16 << 30,
        }
        rows.append(row | values)
    return rows


def resources(*samples):
    newest = max(rows[-1]["ts"] for rows in samples)
    own = current_samples(samples, present_ids(samples, JOB, newest, ()))
    return resources_of("prod", JOB, [budget(rows) for rows in own], observe(own, AT))


def advised(rows, configuration=None, version="1.20.5"):
    lines = list(memory_advice(resources(rows), configuration or OWN, version))
    return lines, dict(
        match.groups() for line in lines if (match := re.match(r"Set (\S+) to (\S+) \(", line))
    )


def test_after_a_day_with_a_peak_less_is_advised_and_flink_starts_with_it():
    lines, settings = advised(day())
    heap = next(part for part in resources(day()).parts if part.name == HEAP)
    assert heap.used_bytes == 150 * MIB
    derived = derived_sizes({**OWN, **settings}, "1.20.5")
    assert derived[HEAP] >= 2.5 * 150 * MIB
    assert derived[NETWORK] >= 64 * MIB
    assert derived[MANAGED] >= LOGGED[MANAGED] and derived[OVERHEAD] >= LOGGED[OVERHEAD]
    assert sum(derived.values()) < sum(LOGGED.values())
    assert lines[-1].startswith("Set together: Flink then derives")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (day(hours=3), "samples of 3 h of the last day were read"),
        (day(peak=1.0), "took 1.0 times the CPU time of the usual one"),
        (day(cpu_ms=None, cpu_load=None), "report no CPU time"),
    ],
)
def test_without_a_day_with_a_peak_nothing_is_lowered_and_it_is_said_what_is_waited_for(
    rows, reason
):
    assert advised(rows) == ([], {})
    found = resources(rows)
    assert found.unused_bytes and reason in found.observation.waits_for


def test_a_part_of_a_day_shows_no_peak():
    part = observe([day(hours=6)], AT)
    assert not part.shows_peak and "samples of 6 h of the last day were read" in part.waits_for


def test_a_taskmanager_of_another_configuration_is_no_part_of_the_day():
    before = [
        row | {"taskmanager_id": "tm-0", "process_memory_bytes": 1 << 30} for row in day()[:-12]
    ]
    now = day()[-12:]
    assert resources(before, now).observation.hours == 2


def test_network_memory_is_not_lowered_below_its_own_least():
    least = {**OWN, "taskmanager.memory.network.min": "128m"}
    assert "taskmanager.memory.network.max" in advised(day())[1]
    settings = advised(day(), least)[1]
    assert size_bytes(settings.get("taskmanager.memory.network.max"), 1 << 40) >= 128 * MIB


def test_more_metaspace_raises_the_process_instead_of_taking_from_the_heap():
    lines, settings = advised(day(hours=1, metaspace_used_bytes=250 * MIB))
    assert lines[0].startswith("Too little metaspace")
    assert settings[PROCESS] == "1858m"
    derived = derived_sizes({**OWN, **settings}, "1.20.5")
    assert derived[METASPACE] == 384 * MIB and derived[HEAP] >= LOGGED[HEAP]


def test_more_than_the_host_has_is_not_advised():
    lines, settings = advised(
        day(hours=1, metaspace_used_bytes=250 * MIB, physical_memory_bytes=1800 * MIB)
    )
    assert not settings
    assert lines[-1].startswith("More does not fit: host-tm-1 has 1.9 GB")


def test_sizes_that_do_not_follow_from_the_configuration_are_not_lowered():
    assert advised(day(), {PROCESS: "4g"}) == ([], {})
    lines, settings = advised(day(metaspace_used_bytes=250 * MIB), {PROCESS: "4g"})
    assert not settings and "do not follow from the recorded configuration" in lines[0]
