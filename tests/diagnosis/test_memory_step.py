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
    # The newest attempt has not run for half as long as the others by then.
    shown = [level for _, _, level in newest["data"]["levels"]]
    assert shown == direct[: len(shown)] and len(direct) - len(shown) <= 1
    direct = shown
    assert evidence(newest, "left behind by a restart") == pytest.approx(LEAKED, rel=0.07)
    *_, detail = answers(played, f"/taskmanagers/{on}")
    configured = detail.body["memoryConfiguration"]
    limit = sum(configured[name] for name in ("frameworkOffHeap", "taskOffHeap", "networkMemory"))
    assert evidence(newest, "limit of direct memory") == limit
    assert evidence(newest, "restarts until it is full") == pytest.approx(
        (limit - direct[-1]) / LEAKED, rel=0.07
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
    "played",
    [
        "1.20.5/slow-restore",
        "2.3.0/slow-restore",
        "1.20.5/lost-file",
        "2.3.0/lost-file",
        "2.3.0/killed",  # another process under the name of the one that was lost
        "1.20.5/lost-taskmanager",
        "1.20.5/few-buffers",  # warms up from failure to failure
        "2.3.0/growing-union",
    ],
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


FULL = 128 * MIB


def judged_samples(samples, annotations=()):
    """``samples``: (second, restarts before it, MiB of metaspace[, CPU time in ms])."""
    taskmanagers = tuple(
        TaskManagerSample(
            "tm",
            ms(at),
            restarts,
            metaspace_used_bytes=round(size * MIB),
            metaspace_max_bytes=FULL,
            cpu_ms=cpu_ms[0] if cpu_ms else None,
        )
        for at, restarts, size, *cpu_ms in samples
    )
    window = JobWindow(
        "prod",
        "a" * 32,
        ms(36_000),
        ms(35_940),
        taskmanagers=taskmanagers,
        annotations=tuple(Annotation(ms(at), "restart") for at in annotations),
    )
    return diagnose(window, LIMITS, only=[RULE]).findings


def test_attempts_are_compared_after_about_as_long_a_time_running():
    """What it loads while it runs: each attempt ran longer than the one before."""
    growing = [(0, 0, 50), (60, 1, 52), (300, 2, 60), (1_200, 3, 70), (4_800, 4, 90)]
    assert not judged_samples(growing)
    even = [(0, 0, 50), (600, 1, 60), (1_200, 2, 70), (1_800, 3, 80), (2_400, 4, 90)]
    (found,) = judged_samples(even)
    assert evidence_of(found, "left behind by a restart") == 10 * MIB
    # The newest attempt is taken as it was when it had run for so long.
    (found,) = judged_samples([*even[:-1], (2_400, 4, 90), (30_000, 4, 120)])
    assert found.data["levels"][-1][1:] == [ms(2_400), 90 * MIB]
    (found,) = judged_samples([*even, (2_410, 5, 91)])
    assert found.data["levels"][-1][0] == 4


def test_only_one_process_is_compared_though_another_had_its_id():
    one = [(60 * n, n, 50 + 10 * n, 1_000 * (n + 1)) for n in range(5)]
    assert judged_samples(one)
    other = [(at, restarts, size, 100 * restarts + 10) for at, restarts, size, _ in one[3:]]
    assert not judged_samples([*one[:3], *other])


def test_restarts_of_one_episode_count_once():
    """No checkpoint was triggered and no 20 seconds passed between two of each three restarts."""
    begun = [600 * episode + restart for episode in range(1, 5) for restart in (0, 10, 20)]
    samples = [(600 * episode + 590, 3 * episode, 50 + 9 * episode) for episode in range(5)]
    (found,) = judged_samples(samples, begun)
    assert evidence_of(found, "left behind by a restart") == 9 * MIB
    assert evidence_of(found, "restarts seen") == 4
    apart = [600 * episode + restart for episode in range(1, 5) for restart in (0, 190, 380)]
    (found,) = judged_samples(samples, apart)
    assert evidence_of(found, "left behind by a restart") == 3 * MIB
    assert evidence_of(found, "restarts seen") == 12


def evidence_of(finding, name):
    (value,) = [one.value for one in finding.evidence if one.name == name]
    return value


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
