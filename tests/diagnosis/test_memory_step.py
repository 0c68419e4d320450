"""memory.step_after_restart: what a real Flink's TaskManagers kept of each attempt, recounted from
its raw answers.
"""

import re
from itertools import pairwise
from statistics import median

import pytest

from spark_jobs.diagnosis.registry import diagnose
from spark_jobs.diagnosis.samples import Annotation, JobWindow, TaskManagerSample
from tests.diagnosis.jobs import LIMITS, MIB, ms
from tests.played import answers, evidence, occurrences, of_rule

RULE = "memory.step_after_restart"
LEAKED = 4_000_000
"""Direct memory that the lab's job leaves behind on each TaskManager, by its arguments."""


def used(played, metric):
    """TaskManager → (time in seconds, bytes), as Flink answered."""
    found = {}
    for answer in answers(played, r"/taskmanagers/([^/]+)/metrics\?get=.*"):
        values = {one["id"]: float(one["value"]) for one in answer.body}
        if metric in values:
            found.setdefault(answer.found[0], []).append((answer.at, values[metric]))
    return found


def restarts(played):
    """When the job began to restart, in seconds, by the job's own timestamps."""
    told = {
        answer.body["timestamps"]["RESTARTING"] / 1000
        for answer in answers(played, "/jobs/[0-9a-f]{32}")
    }
    return sorted(told - {0.0})


def levels(samples, begun):
    """The last value of each spell between restarts."""
    ends = [*begun, float("inf")]
    spells = [
        [value for at, value in samples if before <= at < end]
        for before, end in zip([0, *begun], ends, strict=True)
    ]
    return [spell[-1] for spell in spells if spell]


@pytest.mark.parametrize("played", ["1.20.5/leaking", "2.3.0/leaking"])
def test_what_a_thread_keeps_of_each_attempt_is_found(played):
    newest = of_rule(played, RULE)[-1]
    on = newest["data"]["taskmanager_id"]
    end, begun = newest["window_start"].timestamp() + 60, restarts(played)
    direct = levels(
        [one for one in used(played, "Status.JVM.Memory.Direct.MemoryUsed")[on] if one[0] < end],
        begun,
    )
    assert newest["data"]["kind"] == "direct memory"
    assert [level for _, _, level in newest["data"]["levels"]] == direct
    assert evidence(newest, "left behind by a restart") == pytest.approx(LEAKED, rel=0.06)
    *_, detail = answers(played, f"/taskmanagers/{on}")
    configured = detail.body["memoryConfiguration"]
    limit = sum(configured[name] for name in ("frameworkOffHeap", "taskOffHeap", "networkMemory"))
    assert evidence(newest, "limit of direct memory") == limit
    assert evidence(newest, "restarts until it is full") == pytest.approx(
        (limit - direct[-1]) / LEAKED, rel=0.06
    )
    assert newest["severity"] == "warning"
    spells = [
        levels(samples, begun)
        for samples in used(played, "Status.JVM.Memory.Metaspace.Used").values()
    ]
    steps = [median(later - earlier for earlier, later in pairwise(spell)) for spell in spells]
    (told,) = re.findall(r"Metaspace grows by ([0-9.]+) MB a restart as well", newest["cause"])
    assert any(float(told) == pytest.approx(step / 1e6, abs=0.15) for step in steps)


@pytest.mark.parametrize(
    "played", ["1.20.5/slow-restore", "2.3.0/slow-restore", "1.20.5/lost-file", "2.3.0/lost-file"]
)
def test_restarts_that_leave_nothing_behind_are_no_finding(played):
    assert RULE not in {one["rule"] for one in occurrences(played)}


def judged(*metaspaces, **values):
    """One TaskManager, with so many MiB of metaspace at the end of each spell."""
    samples = [
        TaskManagerSample(
            "tm", ms(60 * number), number, metaspace_used_bytes=size and round(size * MIB), **values
        )
        for number, size in enumerate(metaspaces)
    ]
    return diagnose(
        JobWindow("prod", "a" * 32, ms(3600), ms(3540), taskmanagers=tuple(samples)),
        LIMITS,
        only=[RULE],
    )


def told(*metaspaces, **values):
    return [one.severity for one in judged(*metaspaces, **values).findings]


def test_how_soon_it_is_full_decides_how_severe_it_is():
    assert told(50, 60, 70, 80, metaspace_max_bytes=128 * MIB) == ["critical"]
    assert told(50, 60, 70, 80, metaspace_max_bytes=256 * MIB) == ["warning"]
    assert told(50, 60, 70, 80, metaspace_max_bytes=4096 * MIB) == []
    assert told(50, 60, 70, 80) == ["info"]


def test_a_few_restarts_or_small_steps_prove_nothing():
    assert told(50, 60, 70, metaspace_max_bytes=128 * MIB) == []
    assert told(50, 50.5, 51, 51.5, 52, metaspace_max_bytes=64 * MIB) == []


def test_classes_that_are_unloaded_later_were_not_left_behind():
    assert told(50, 60, 70, 50, 60, 70, 50, 60, 70, metaspace_max_bytes=128 * MIB) == []
    assert told(50, 60, 70, 80, 90, 100, 99, 110, metaspace_max_bytes=128 * MIB) == ["critical"]


def test_a_limit_that_only_the_configuration_names_counts_too():
    (found,) = judged(50, 60, 70, 80, metaspace_bytes=128 * MIB).findings
    assert "full after 4 more" in found.cause


def test_what_no_taskmanager_reports_is_unknown_and_only_where_the_job_restarts():
    restarted = tuple(Annotation(ms(60 * number), "restart") for number in range(1, 4))
    one = JobWindow("prod", "a" * 32, ms(3600), ms(3540), annotations=restarted)
    assert [unknown.rule for unknown in diagnose(one, LIMITS, only=[RULE]).unknowns] == [RULE]
    assert (
        diagnose(JobWindow("prod", "a" * 32, ms(3600), ms(3540)), LIMITS, only=[RULE]).unknowns
        == ()
    )
    assert told(None, None, None, None) == []
