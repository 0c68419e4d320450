"""Where the tasks of recorded jobs run, against Flink's raw answers."""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache

from tests.webapp.placement.recorded import answers, redeployed_tasks, subtasks, taken_up, tasks_of
from tests.webapp.reports.stories import UID, gather, parts, scope
from webapp.analyses.document import Advice, Document, Inputs
from webapp.analyses.placement.job_placement import look_up_placement, placement_of
from webapp.analyses.recovery.failover import failover
from webapp.analyses.registry import all_analyses
from webapp.fleet.job_plan import plan_of
from webapp.fleet.task_samples import Sampled, SampledVertex

pytestmark = pytest.mark.django_db
L2, OLD, NEW = "recordings/1.20.5/L2", "recordings/1.12.5/G", "incidents/2.3.0/slow-sync"


def placement(job):
    return look_up_placement(job)


def document_of(job) -> Document:
    at = job.last_seen_at
    return all_analyses()["placement"].answer(job, Inputs(at, at, at))


def rows(document, key):
    """Of the table of this key, by the keys of its columns."""
    (table,) = [one for one in document.tables if one.key == key]
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize("recording", [L2, OLD, NEW])
def test_tasks_of_taskmanagers_are_those_of_flinks_answers(recording, home):
    for job in taken_up(recording, home):
        found = placement(job)
        told = tasks_of(recording, job.job_id)
        assert {one.taskmanager_id: one.tasks for one in found.taskmanagers} == told
        assert list(found.outcome("now").tasks) == sorted(told.values(), reverse=True)
        for vertex in found.vertices:
            counts = subtasks(recording, job.job_id)[vertex.vertex_id]
            assert vertex.most == max(counts.count(one) for one in counts)
            assert vertex.parallelism == len(counts)


@pytest.mark.parametrize("recording", [L2, NEW])
def test_slots_needed_are_those_that_flink_says_are_taken(recording, home):
    """``/overview`` counts the slots of the cluster; the lab runs one job."""
    (job,) = taken_up(recording, home)
    taken = [
        told["body"]["slots-total"] - told["body"]["slots-available"]
        for told in answers(recording)
        if told["path"] == "/overview"
    ]
    assert placement(job).slots_needed == max(taken)


def test_a_taskmanager_lacks_the_buffers_that_flink_says_it_lacks(home):
    """TaskManagers had 32 buffers: the last task to start required 2 and found 1."""
    recording = "incidents/1.20.5/few-buffers"
    (job,) = taken_up(recording, home)
    told = [
        one["body"]["exceptionHistory"]["entries"]
        for one in answers(recording)
        if "/exceptions" in one["path"]
    ]
    lacked = {
        int(a) - int(b)
        for a, b in re.findall(r"required (\d+), but only (\d+) available", str(told))
    }
    found = placement(job)
    assert {one.short_by for one in found.taskmanagers if one.short_by} == lacked == {1}
    assert {one.buffers for one in found.taskmanagers} == {32}
    assert {row["short_by"] for row in rows(document_of(job), "taskmanagers")} == {0, 1}
    verdict = document_of(job).verdict
    assert verdict.tone == "warn"
    assert verdict.sentence.startswith(
        "1 of 2 TaskManagers have fewer network buffers than the tasks on them need at least"
    )


def test_flinks_own_balanced_scheduling_comes_to_what_it_is_simulated_to_bring(home):
    """2.3 with taskmanager.load-balance.mode TASKS: as many tasks on each TaskManager."""
    (job,) = taken_up("incidents/2.3.0/balanced", home)
    found = placement(job)
    assert list(found.outcome("now").tasks) == list(found.outcome("balanced").tasks)
    assert found.outcome("now").max_over_mean < found.outcome("default").max_over_mean
    assert "TASKS already" in found.advice


def test_slot_sharing_groups_are_unknown_before_flink_reports_them(home):
    (job,) = taken_up(OLD, home)
    assert (
        "Slot sharing groups are not reported by this version of Flink: simulated as one group."
        in placement(job).unknown
    )


def test_groups_of_the_plan_are_those_of_the_answer(home):
    (job,) = taken_up(L2, home)
    told = next(
        one["body"]
        for one in answers(L2)
        if one["path"] == f"/jobs/{job.job_id}" and one["body"]["vertices"]
    )
    assert {v["vertex_id"]: v["slot_sharing_group_id"] for v in job.graph["vertices"]} == {
        v["id"]: v["slotSharingGroupId"] for v in told["vertices"]
    }


def test_an_uneven_placement_is_a_warning_with_what_balancing_would_bring(home):
    (job,) = taken_up(L2, home)
    sentence = (
        "The fullest TaskManager has 11 of 14 tasks, 1.57 times the mean. Balanced tasks "
        "would bring it to 1.29."
    )
    document = document_of(job)
    assert (document.verdict.tone, document.verdict.sentence) == ("warn", sentence)
    placements = rows(document, "placements")
    assert [(one["placement"], one["tasks_most"]) for one in placements] == [
        ("Observed", 11),
        ("Flink's default", 14),
        ("Balanced tasks", 9),
    ]


def advice_lines(job):
    return [
        line
        for block in document_of(job).blocks
        if isinstance(block, Advice)
        for line in block.lines
    ]


@pytest.mark.parametrize("recording", [OLD, NEW, "incidents/2.3.0/balanced"])
def test_an_even_placement_is_not_advised_to_be_balanced(recording, home):
    for job in taken_up(recording, home):
        verdict = document_of(job).verdict
        assert (verdict.tone == "ok") is not bool(advice_lines(job)), verdict


def test_an_uneven_placement_is_advised_to_be_balanced(home):
    (job,) = taken_up(L2, home)
    assert advice_lines(job)[0].startswith("Flink already spreads slots over TaskManagers")
    cache.clear()
    job.configuration = {}
    assert advice_lines(job)[0].startswith("Set cluster.evenly-spread-out-slots: true")


def test_the_buffers_that_a_taskmanager_lacks_are_advised_without_taking_them_from_its_heap(home):
    (job,) = taken_up("incidents/1.20.5/few-buffers", home)
    line = advice_lines(job)[0]
    assert line.startswith("Raise taskmanager.memory.network.max, and network.min with it, by 32.8")
    assert "taskmanager.memory.process.size by as much" in line


def test_tasks_that_have_ended_are_counted_nowhere(home):
    """A bounded source of which Flink still lists where it ran."""
    (job,) = taken_up(L2, home)
    plan = plan_of(job)
    spread_out = {
        vertex.vertex_id: SampledVertex(
            job.last_seen_at, tuple(f"tm-{index % 2}" for index in range(vertex.parallelism))
        )
        for vertex in plan.vertices
    }
    source = plan.vertices[0]
    ended = SampledVertex(job.last_seen_at, (None,) * source.parallelism)
    found = placement_of(job, plan, Sampled({**spread_out, source.vertex_id: ended}))
    now = found.outcome("now")
    assert sum(now.tasks) == plan.tasks - source.parallelism
    assert sum(one.tasks for one in found.taskmanagers) == sum(now.tasks)


@pytest.mark.parametrize(
    ("recording", "is_there"), [(L2, True), ("incidents/2.3.0/balanced", False)]
)
def test_a_report_has_an_uneven_placement_and_no_even_one(recording, is_there, home):
    (job,) = taken_up(recording, home)
    at = job.last_seen_at
    of_time = scope(job, start=job.start_time, end=at)
    report = gather(of_time, uid=UID, made_at=at, made_by="olga")
    assert bool(parts(report, "placement-")) is is_there


def test_an_hour_after_its_last_sample_the_present_is_unknown_and_the_plan_is_simulated(home):
    (job,) = taken_up(L2, home)
    job.last_seen_at += timedelta(hours=1)
    found = look_up_placement(job)
    assert found.at is None
    assert found.unknown[0].startswith("Where its subtasks run is not known")
    verdict = document_of(job).verdict
    assert verdict.tone == "unknown"
    assert verdict.sentence.startswith("How even its tasks are spread now is not known")
    assert [one.key for one in found.outcomes] == ["default", "balanced"]


def test_a_lake_that_cannot_be_read_leaves_the_plan(home):
    (job,) = taken_up(L2, home)
    for log in (home / "lake" / "vertex_metrics" / "_delta_log").iterdir():
        log.write_text("no commit")
    assert [one["placement"] for one in rows(document_of(job), "placements")] == [
        "Flink's default",
        "Balanced tasks",
    ]


def test_the_placement_of_a_job_without_a_plan_is_unknown(home):
    (job,) = taken_up(L2, home)
    job.graph = None
    document = document_of(job)
    assert (document.verdict.tone, document.verdict.sentence) == (
        "unknown",
        "The plan of this job is not known",
    )
    assert not document.tables


def test_the_tasks_that_a_lost_taskmanager_restarts_are_those_that_flink_deployed_again(home):
    """TaskManagers were killed: each time Flink's log deploys as many tasks anew."""
    (job,) = taken_up("recordings/1.20.5/I", home)
    found = placement(job)
    deployed = redeployed_tasks("recordings/1.20.5/I")
    assert deployed
    assert set(deployed) == {one.restarts for one in found.taskmanagers} == {found.tasks}


@pytest.mark.parametrize(
    "setting",
    [
        {"jobmanager.execution.failover-strategy": "full"},
        {"jobmanager.scheduler": "Adaptive"},
        {"scheduler-mode": "reactive"},
    ],
)
def test_where_a_failure_restarts_all_tasks_there_is_one_region(setting, home):
    (job,) = taken_up(OLD, home)
    job.graph["edges"] = []
    at = job.last_seen_at
    assert failover(job, at, at, []).regions == 8
    job.configuration = setting
    assert failover(job, at, at, []).regions == 1
