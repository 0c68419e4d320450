"""TaskManagers that a real Flink waits for in vain (``tests/lab/outages.py``)."""

import gzip

import pytest

from tests.played import FOLDER, evidence, of_rule

RULE = "start.workers_lost"
LOST = "TaskManagers that died before any task ran"


def logged(played, process, words):
    """How often a process of it logged this."""
    [log] = (FOLDER / played / "logs").glob(f"*{process}*")
    return gzip.decompress(log.read_bytes()).decode().count(words)


def test_taskmanagers_whose_own_logs_say_that_they_did_not_start_are_told():
    last = of_rule("1.20.5/dying-taskmanagers", RULE)[-1]
    ended = logged("1.20.5/dying-taskmanagers", "taskexecutor", "with exit code 1.\njava.lang.Run")
    assert (last["severity"], evidence(last, LOST)) == ("critical", ended)
    assert ended == 4
    assert "Not a directory" in str(last["title"])


@pytest.mark.parametrize("played", ["1.20.5/lost-taskmanager", "2.3.0/killed", "2.3.0/main-runs"])
def test_those_that_ran_are_none_of_these(played):
    assert not of_rule(played, RULE)
