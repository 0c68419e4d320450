"""The map of failover regions, against regions found task by task."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.placement import brute_force
from tests.placement.test_rules import jobs
from tests.webapp.builders import T0
from webapp.fleet.models import JobCurrent
from webapp.analyses.recovery.failover import failover
from webapp.analyses.recovery.job_restores import LIMITS

pytestmark = pytest.mark.django_db


def row(job, **fields):
    vertices = [{"vertex_id": f"v{at}", "name": f"v{at}", "parallelism": p} for at, (p, _group) in enumerate(job.vertices)]
    edges = [{"source": f"v{i}", "target": f"v{j}", "ship_strategy": "RESCALE" if near else "HASH"} for i, j, near in job.edges]
    return JobCurrent(cluster="c", job_id="j", as_of=T0, graph={"vertices": vertices, "edges": edges}, **fields)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(jobs(), st.booleans())
def test_every_subtask_has_the_shade_and_the_restarts_of_its_region(job, all_at_once):
    strategy = {"jobmanager.execution.failover-strategy": "full"} if all_at_once else {}
    found = failover(row(job, configuration=strategy), T0, T0, [], LIMITS)
    tasks = {(v, i) for v, (parallelism, _group) in enumerate(job.vertices) for i in range(parallelism)}
    expected = [tasks] if all_at_once else [set(region) for region in brute_force.regions(job)]
    assert (found.tasks, found.regions, found.largest) == (len(tasks), len(expected), max(map(len, expected)))
    shade = {(v, cell.first): cell for v, vertex in enumerate(found.vertices) for cell in vertex.cells}
    assert shade.keys() == tasks
    for region in expected:
        assert len({shade[task].region for task in region}) == 1
        assert {shade[task].restarts for task in region} == {len(region)}
    assert len({cell.region for cell in shade.values()}) == len(expected)
    for v, vertex in enumerate(found.vertices):
        assert vertex.regions == sum(any(of == v for of, _i in region) for region in expected)


def test_a_wide_vertex_is_drawn_in_cells_of_several_subtasks():
    job = brute_force.Job([(1_000, "a")], [])
    (vertex,) = failover(row(job), T0, T0, [], LIMITS).vertices
    assert len(vertex.cells) == 48
    assert [cell.first for cell in vertex.cells[1:]] == [cell.last + 1 for cell in vertex.cells[:-1]]
    assert (vertex.cells[0].first, vertex.cells[-1].last, vertex.regions, vertex.restarts) == (0, 999, 1_000, 1)


def test_a_job_without_a_plan_has_no_map():
    assert failover(JobCurrent(cluster="c", job_id="j", as_of=T0), T0, T0, [], LIMITS) is None
