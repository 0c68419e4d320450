"""Where tasks would run: the arrays against the rules carried out task by task, on any small
plan.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.diagnosis.samples import Edge
from spark_jobs.placement.network_buffers import BufferSettings, buffers_needed
from spark_jobs.placement.plan import Plan, PlannedVertex, make_plan
from spark_jobs.placement.regions import region_sizes, regions, restarted_by_taskmanager
from spark_jobs.placement.slots import Placement, simulate
from spark_jobs.placement.spread import spread
from tests.attacks.scale import examples
from tests.placement import brute_force
from tests.placement.brute_force import Job


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    vertices = draw(
        st.lists(st.tuples(st.integers(1, 7), st.sampled_from("ab")), min_size=1, max_size=7)
    )
    pairs = [(i, j) for j in range(len(vertices)) for i in range(j)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=9)) if pairs else []
    return Job(vertices, [(i, j, draw(st.booleans())) for i, j in chosen])


def plan_of(job: Job) -> Plan:
    vertices = [
        PlannedVertex(f"v{at}", f"v{at}", parallelism, group)
        for at, (parallelism, group) in enumerate(job.vertices)
    ]
    return make_plan(
        vertices,
        [
            Edge(f"v{i}", f"v{j}", "RESCALE" if pointwise else "HASH")
            for i, j, pointwise in job.edges
        ],
    )


def slots_of(placement: Placement) -> dict[tuple[int, int], int]:
    return {
        (v, i): int(slot)
        for v, slots in enumerate(placement.slot_of)
        for i, slot in enumerate(slots)
    }


def taskmanagers_of(job: Job, placement: Placement) -> dict[tuple[int, int], int]:
    return {
        (v, i): int(tm)
        for v in range(len(job.vertices))
        for i, tm in enumerate(placement.taskmanagers(v))
    }


def clusters(job: Job) -> list[list[int]]:
    """TaskManagers of one size and of several, with and without room to spare."""
    needed = sum(len(slots) for slots in brute_force.slots_by_group(job).values())
    return [[2] * -(-needed // 2), [3] * (-(-needed // 3) + 1), [1, needed, 2]]


@settings(max_examples=examples(100, 300), deadline=None)
@given(jobs())
def test_tasks_take_the_slots_that_choosing_one_after_the_other_gives(job):
    found = simulate(plan_of(job), clusters(job)[0])
    assert slots_of(found.balanced) == brute_force.fewest_tasks(job)
    assert slots_of(found.by_default) == brute_force.by_index(job)


@settings(max_examples=examples(66, 200), deadline=None)
@given(jobs())
def test_slots_of_equal_content_are_as_even_over_taskmanagers_of_one_size_as_they_can_be(job):
    for slots_each in clusters(job)[:2]:
        placement = simulate(plan_of(job), slots_each).balanced
        alike = Counter[tuple[frozenset[int], int]]()
        for slot, content in brute_force.contents(job, brute_force.fewest_tasks(job)).items():
            alike[content, int(placement.taskmanager_of[slot])] += 1
        for content in {content for content, _ in alike}:
            counts = [alike[content, tm] for tm in range(len(slots_each))]
            assert max(counts) - min(counts) <= 1


@settings(max_examples=examples(66, 200), deadline=None)
@given(jobs())
def test_no_slot_has_two_subtasks_of_a_vertex_and_no_taskmanager_more_slots_than_it_has(job):
    for slots_each in clusters(job):
        found = simulate(plan_of(job), slots_each)
        for placement in (found.by_default, found.balanced):
            for taken in placement.slot_of:
                assert len(set(taken.tolist())) == len(taken)
            used = Counter(placement.taskmanager_of.tolist())
            assert all(used[tm] <= slots for tm, slots in enumerate(slots_each))


@settings(max_examples=examples(66, 200), deadline=None)
@given(jobs(), st.integers(1, 4))
def test_network_buffers_are_those_of_every_channel_counted_alone(job, per_channel):
    slots_each = clusters(job)[0]
    placement = simulate(plan_of(job), slots_each).balanced
    where = [placement.taskmanagers(v) for v in range(len(job.vertices))]
    need = buffers_needed(plan_of(job), where, len(slots_each), BufferSettings(per_channel))
    expected = brute_force.buffers(
        job, taskmanagers_of(job, placement), len(slots_each), per_channel
    )
    assert need.tolist() == expected


@settings(max_examples=examples(50, 150), deadline=None)
@given(jobs(), st.data())
def test_counts_by_taskmanager_are_those_of_the_tasks(job, data):
    plan = plan_of(job)
    where = [
        np.array(data.draw(st.lists(st.integers(-1, 2), min_size=p, max_size=p)), dtype=np.int64)
        for p, _ in job.vertices
    ]
    found = spread(plan, where, 3, BufferSettings())
    for tm in range(3):
        assert found.tasks[tm] == sum((of_vertex == tm).sum() for of_vertex in where)
    for concentration, of_vertex in zip(found.concentration(), where, strict=True):
        counts = Counter(of_vertex[of_vertex >= 0].tolist())
        assert concentration == (
            max(counts.values()) / -(-sum(counts.values()) // 3) if counts else 0
        )


@settings(max_examples=examples(100, 300), deadline=None)
@given(jobs())
def test_regions_are_what_exchanges_records(job):
    found = regions(plan_of(job))
    by_label: dict[int, set[tuple[int, int]]] = {}
    for vertex, labels in enumerate(found):
        for subtask, label in enumerate(labels.tolist()):
            by_label.setdefault(label, set()).add((vertex, subtask))
    expected = brute_force.regions(job)
    assert sorted(map(sorted, by_label.values())) == sorted(map(sorted, expected))
    assert sorted(region_sizes(found).tolist()) == sorted(map(len, expected))


@settings(max_examples=examples(50, 150), deadline=None)
@given(jobs(), st.data())
def test_a_lost_taskmanager_restarts_every_region_that_it_runs_a_task_of(job, data):
    where = [
        np.array(data.draw(st.lists(st.integers(-1, 2), min_size=p, max_size=p)), dtype=np.int64)
        for p, _ in job.vertices
    ]
    found = restarted_by_taskmanager(regions(plan_of(job)), where, 3)
    for taskmanager in range(3):
        lost = [
            one
            for one in brute_force.regions(job)
            if any(where[v][i] == taskmanager for v, i in one)
        ]
        assert found[taskmanager] == sum(map(len, lost))
    assert set(np.concatenate(regions(plan_of(job), full=True)).tolist()) == {0}


def test_the_four_sources_of_the_article_get_a_slot_each():
    """Four sources of one subtask and two vertices of four: by default all sources share the first
    slot.
    """
    job = Job(
        [(1, "a")] * 4 + [(4, "a"), (4, "a")],
        [(source, 4, False) for source in range(4)] + [(4, 5, False)],
    )
    found = simulate(plan_of(job), [2, 2])
    assert [int(found.by_default.slot_of[source][0]) for source in range(4)] == [0, 0, 0, 0]
    assert sorted(int(found.balanced.slot_of[source][0]) for source in range(4)) == [0, 1, 2, 3]
    tasks = spread(
        plan_of(job), [found.balanced.taskmanagers(v) for v in range(6)], 2, BufferSettings()
    ).tasks
    assert tasks.tolist() == [6, 6]


def test_too_few_slots_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="needs 4 slots and the TaskManagers have 3"):
        simulate(plan_of(Job([(4, "a")], [])), [1, 2])


def test_a_plan_with_a_cycle_is_placed_as_if_it_were_cut_there():
    plan = make_plan(
        [PlannedVertex("a", "a", 2), PlannedVertex("b", "b", 2)],
        [Edge("a", "b", "HASH"), Edge("b", "a", "HASH")],
    )
    assert [slots.tolist() for slots in simulate(plan, [2]).balanced.slot_of] == [[0, 1], [0, 1]]
