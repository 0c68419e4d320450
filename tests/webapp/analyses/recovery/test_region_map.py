"""Failover regions of vertices, against regions found task by task."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.placement import brute_force
from tests.placement.test_rules import jobs
from tests.webapp.builders import T0
from webapp.analyses.recovery.failover import failover
from webapp.fleet.models import JobCurrent

pytestmark = pytest.mark.django_db


def row(job, **fields):
    vertices = [
        {"vertex_id": f"v{at}", "name": f"v{at}", "parallelism": p}
        for at, (p, _group) in enumerate(job.vertices)
    ]
    edges = [
        {"source": f"v{i}", "target": f"v{j}", "ship_strategy": "RESCALE" if near else "HASH"}
        for i, j, near in job.edges
    ]
    return JobCurrent(
        cluster="c", job_id="j", as_of=T0, graph={"vertices": vertices, "edges": edges}, **fields
    )


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(jobs(), st.booleans())
def test_a_vertex_has_the_regions_of_its_subtasks_and_restarts_with_the_largest(job, all_at_once):
    strategy = {"jobmanager.execution.failover-strategy": "full"} if all_at_once else {}
    found = failover(row(job, configuration=strategy), T0, T0, [])
    tasks = {
        (v, i) for v, (parallelism, _group) in enumerate(job.vertices) for i in range(parallelism)
    }
    expected = [tasks] if all_at_once else [set(region) for region in brute_force.regions(job)]
    assert (found.tasks, found.regions, found.largest) == (
        len(tasks),
        len(expected),
        max(map(len, expected)),
    )
    for v, vertex in enumerate(found.vertices):
        of_vertex = [region for region in expected if any(of == v for of, _i in region)]
        assert (vertex.regions, vertex.restarts) == (len(of_vertex), max(map(len, of_vertex)))


def test_a_job_without_a_plan_has_no_regions():
    assert failover(JobCurrent(cluster="c", job_id="j", as_of=T0), T0, T0, []) is None
