"""TaskManagers that a real Flink waits for in vain (``tests/lab/outages.py``)."""

import pytest

from tests.played import evidence, logged, of_rule

RULE = "start.workers_lost"
LOST = "TaskManagers that died before any task ran"


def test_taskmanagers_whose_own_logs_say_that_they_did_not_start_are_told():
    last = of_rule("1.20.5/dying-taskmanagers", RULE)[-1]
    log = logged("1.20.5/dying-taskmanagers", "taskexecutor")
    ended = log.count("with exit code 1.\njava.lang.Run")
    assert (last["severity"], evidence(last, LOST)) == ("critical", ended)
    assert ended == 4
    assert "Not a directory" in str(last["title"])


@pytest.mark.parametrize(
    ("played", "ended", "code"),
    [
        ("1.20.5/dying-pods", " is terminated. Diagnostics: ", "CONTAINER_OUT_OF_MEMORY"),
        ("1.20.5/unscheduled-pods", "is terminated before being scheduled.", "UNKNOWN"),
        ("1.20.5/refused-pods", "Could not create pod ", "CLUSTER_REFUSES"),
    ],
)
def test_each_pod_counts_once_though_flink_logs_twice_that_it_was_refused(played, ended, code):
    last = of_rule(played, RULE)[-1]
    assert (last["severity"], last["data"]["cause"]) == ("critical", code)
    assert evidence(last, LOST) == logged(played, "kubernetes-session").count(ended) > 2


@pytest.mark.parametrize("played", ["1.20.5/lost-taskmanager", "2.3.0/killed", "2.3.0/main-runs"])
def test_those_that_ran_are_none_of_these(played):
    assert not of_rule(played, RULE)
