"""Known bugs held against what recorded clusters report of their jobs."""

import pytest

from spark_jobs.diagnosis.known_bugs import KNOWN_BUGS
from spark_jobs.diagnosis.known_bugs.conditions import JobFacts
from spark_jobs.fold.history import plan_of
from spark_jobs.serving import JOB_CURRENT
from tests.first_cycles import served
from tests.played import FOLDER


@pytest.mark.parametrize(
    ("recorded", "can_hit", "unknown"),
    [
        ("1.12.5/slow-jar", {"FLINK-23949", "FLINK-30461"}, set()),
        ("1.20.5/large-state", set(), set()),
        ("1.20.5/overtaking", set(), set()),
        ("2.3.0/leaking", set(), {"FLINK-39923"}),
    ],
)
def test_only_bugs_of_its_release_and_configuration_can_hit_a_recorded_job(
    tmp_path, recorded, can_hit, unknown
):
    (job,) = served(FOLDER / recorded, tmp_path, JOB_CURRENT)
    vertices, edges = plan_of(job["graph"])
    facts = JobFacts(
        job["flink_version"],
        job["configuration"],
        job["checkpoint_config"],
        tuple(vertex.name for vertex in vertices),
        tuple(edge.ship_strategy or "" for edge in edges),
    )
    exposures = {
        bug.issue: bug.exposure(facts)
        for bug in KNOWN_BUGS
        if bug.releases.affect(facts.flink_version) == "yes"
    }
    assert {issue for issue, how in exposures.items() if how == "can_hit"} == can_hit
    assert {issue for issue, how in exposures.items() if how == "unknown"} == unknown
