"""Collections and CPU of a TaskManager as causes: on recorded windows, with samples of JVMs that
stand still, wait or compute.
"""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.registry import diagnose
from spark_jobs.diagnosis.samples import TaskManagerSample
from tests.diagnosis.graphs import LIMITS
from tests.played import answers, evidence, of_rule
from tests.windows import recorded_windows

RULE = "pressure.root"


def windows():
    found = [
        one for one in recorded_windows("1.20.5-B") if diagnose(one, LIMITS, only=[RULE]).findings
    ]
    assert found
    return found


def judged(window, **rates):
    """``rates``: of gc_ms and cpu_ms, per ms, of every TaskManager over the minute."""
    names = {name for vertex in window.vertex_windows for name in vertex.taskmanager_id if name}
    samples = tuple(
        TaskManagerSample(
            name,
            at_ms,
            host="h",
            cpu_cores=2.0,
            **{counter: round(rate * at_ms) for counter, rate in rates.items()},
        )
        for name in sorted(names)
        for at_ms in (window.window_start_ms - 5_000, window.window_start_ms + 55_000)
    )
    (found, *_) = diagnose(replace(window, taskmanagers=samples), LIMITS, only=[RULE]).findings
    return found


def evidence_of(finding, name):
    (value,) = [one.value for one in finding.evidence if one.name == name]
    return value


@pytest.mark.parametrize("window", windows()[:2])
def test_collections_are_named_before_anything_else(window):
    found = judged(window, gc_ms=0.3, cpu_ms=0.1)
    assert "The JVM of h collected garbage for 30 % of the time" in found.cause
    assert found.next_step.startswith("First give h more heap")
    (told,) = [one for one in found.evidence if one.name == "h in collections"]
    assert (round(told.value, 3), told.comparison, told.threshold) == (0.3, ">=", 0.1)


def test_collectors_that_work_beside_each_other_take_all_of_the_time_at_most():
    found = judged(windows()[0], gc_ms=1.7, cpu_ms=0.1)
    assert "collected garbage for 100 % of the time" in found.cause
    assert evidence_of(found, "h in collections") == 1


def test_a_jvm_that_has_all_processors_computes_and_one_that_uses_hardly_any_waits():
    window = windows()[0]
    assert (
        "used 1.95 of the 2 processors that it sees"
        in judged(window, gc_ms=0.01, cpu_ms=1.95).cause
    )
    waits = judged(window, gc_ms=0.01, cpu_ms=0.05)
    assert "they wait for something outside" in waits.cause
    assert "used 0.05 processors while" in waits.cause
    assert evidence_of(waits, "h processors used") == 0.05
    computes = judged(window, gc_ms=0.01, cpu_ms=1.2)
    assert "JVM" not in computes.cause
    assert {"h in collections", "h processors used"} <= {one.name for one in computes.evidence}


def test_a_job_whose_taskmanagers_were_not_sampled_in_the_minute_is_judged_as_before():
    window = windows()[0]
    (before, *_) = diagnose(window, LIMITS, only=[RULE]).findings
    old = (
        TaskManagerSample("tm", window.window_start_ms - 120_000, gc_ms=0),
        TaskManagerSample("tm", window.window_start_ms - 1, gc_ms=9_999),
    )
    (found, *_) = diagnose(replace(window, taskmanagers=old), LIMITS, only=[RULE]).findings
    assert found == before


def collected(occurrence, played):
    """Share of the time in collections from the last answer of the minute before to the last one of
    the minute, as Flink answered.
    """
    (name,) = [
        one["name"] for one in occurrence["evidence"] if one["name"].endswith(" in collections")
    ]
    begin, last = occurrence["window_start"].timestamp(), {}
    for one in answers(played, rf"/taskmanagers/{name.split()[0]}:[^/]+"):
        if one.body["metrics"]["heapCommitted"]:
            times = {gc["name"]: gc["time"] for gc in one.body["metrics"]["garbageCollectors"]}
            last[int(one.at // 60)] = one.at, times.get("All", sum(times.values()))
    before, after = last[int(begin // 60) - 1], last[int(begin // 60)]
    return evidence(occurrence, name), (after[1] - before[1]) / (after[0] - before[0]) / 1000


def told(played, rule):
    return [
        one
        for one in of_rule(played, rule)
        if any(item["name"].endswith(" in collections") for item in one["evidence"])
    ]


QUIET = [
    ("1.20.5/slow-sync", "checkpoint.sync"),
    ("2.3.0/slow-sync", "checkpoint.sync"),
    ("2.3.0/slow-storage", "checkpoint.async"),
]


@pytest.mark.parametrize(("played", "rule"), QUIET)
def test_collections_of_a_real_flink_that_explain_nothing_are_figures_only(played, rule):
    found = told(played, rule)
    assert found
    for one in found:
        said, counted = collected(one, played)
        assert said == pytest.approx(counted, abs=0.001) and said < 0.1
        assert "JVM" not in one["cause"]
