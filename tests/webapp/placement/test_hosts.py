"""Hosts with several TaskManagers, some of them unknown: what their loss restarts, against regions
found task by task.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.placement import brute_force
from tests.placement.test_rules import jobs, plan_of
from tests.webapp.builders import T0
from webapp.analyses.placement.job_placement import placement_of
from webapp.fleet.models import JobCurrent
from webapp.fleet.task_samples import Sampled, SampledTaskManager, SampledVertex

NAMES = ("tm-0", "tm-1", "tm-2", "tm-3")


@settings(max_examples=150, deadline=None)
@given(jobs(), st.data())
def test_a_lost_host_restarts_every_region_with_a_task_on_any_of_its_taskmanagers(job, data):
    where = [
        data.draw(st.lists(st.sampled_from((*NAMES, None)), min_size=p, max_size=p))
        for p, _group in job.vertices
    ]
    hosts = dict(
        zip(
            NAMES,
            data.draw(st.lists(st.sampled_from(("a", "b", None)), min_size=4, max_size=4)),
            strict=True,
        )
    )
    sampled = Sampled(
        {f"v{at}": SampledVertex(T0, placed) for at, placed in enumerate(where)},
        {name: SampledTaskManager(host=host, slots=1_000) for name, host in hosts.items()},
    )
    found = placement_of(JobCurrent(), plan_of(job), sampled)
    used = {name for placed in where for name in placed if name}
    expected = {}
    for host in {hosts[name] for name in used if hosts[name]}:
        on_it = {
            (v, i)
            for v, placed in enumerate(where)
            for i, name in enumerate(placed)
            if name and hosts[name] == host
        }
        restarts = sum(len(region) for region in brute_force.regions(job) if on_it & set(region))
        expected[host] = (len(on_it), restarts)
    assert {one.host: (one.tasks, one.restarts) for one in found.hosts} == expected
    assert [one.restarts for one in found.hosts] == sorted(
        (one.restarts for one in found.hosts), reverse=True
    )
    assert np.array([one.tasks for one in found.taskmanagers]).sum() == sum(
        name is not None for placed in where for name in placed
    )
