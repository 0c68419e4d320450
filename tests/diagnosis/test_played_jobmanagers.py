"""JobManagers that ended again and again on a real Flink, and errors that only their logs name
(``tests/lab/outages.py``): how they ended is read there in the plainest way.
"""

import re
from datetime import timedelta

import pytest

from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from tests.played import instants, logged, of_rule

RULE, ERROR = "jobmanager.crash_loop", "jobmanager.error"
STARTED = re.escape("  Starting StandaloneSessionClusterEntrypoint (Version")
REVOKED = "JobMasterServiceLeadershipRunner for job .* was revoked leadership"
FATAL = "Fatal error occurred in the cluster entrypoint"


def by_jobmanager(played, pattern):
    """When it logged this."""
    return instants(logged(played, "standalonesession"), pattern)


@pytest.mark.parametrize(
    ("played", "pattern", "first", "code"),
    [
        # The first start is none after an end.
        ("2.3.0/killed-jobmanager", STARTED, 1, "UNKNOWN"),
        ("1.20.5/revoked-leader", REVOKED, 0, "LEADERSHIP_LOST"),
    ],
)
def test_it_is_said_after_the_second_end_and_not_after_the_first(played, pattern, first, code):
    found, ends = of_rule(played, RULE), by_jobmanager(played, pattern)[first:]
    assert len(ends) == 3
    minute = timedelta(minutes=1)
    assert ends[1] - minute < found[0]["window_start"] <= ends[1] + minute
    assert found[-1]["data"] | {"path": None} == {"cause": code, "path": None, "ends": 3}
    assert found[-1]["severity"] == "warning"


def test_of_one_that_was_killed_a_taskmanagers_word_of_a_lost_lead_is_not_believed():
    assert logged("2.3.0/killed-jobmanager", "taskexecutor").count(" lost leadership.\n") >= 3
    assert not by_jobmanager("2.3.0/killed-jobmanager", "revoked leadership")
    last = of_rule("2.3.0/killed-jobmanager", RULE)[-1]
    assert "jobmanager.memory.process.size" in str(last["next_step"])
    assert "lease" not in str(last["next_step"])


def test_one_that_cannot_recover_names_the_file_that_is_gone():
    found = of_rule("1.20.5/lost-handle", RULE)
    # It was killed once before that.
    ends = len(by_jobmanager("1.20.5/lost-handle", FATAL)) + 1
    last = found[-1]
    assert (last["severity"], last["data"]["cause"]) == ("critical", "HA_STORE_BROKEN")
    assert re.search("/ha/orders/completedCheckpoint[0-9a-f]+$", last["data"]["path"])
    assert last["data"]["ends"] == ends == 4
    assert last["next_step"] == cause_by_code("HA_STORE_BROKEN").next_step


@pytest.mark.parametrize(
    ("played", "severity", "code"),
    [
        ("2.3.0/failed-before", "critical", "JOB_KNOWN_ALREADY"),
        ("1.20.5/unregistered-taskmanager", "warning", "REGISTRATION_FAILED"),
    ],
)
def test_an_error_that_only_the_log_names_is_a_finding_with_its_cause(played, severity, code):
    last = of_rule(played, ERROR)[-1]
    assert (last["severity"], last["data"]["cause"]) == (severity, code)
    assert last["next_step"] == cause_by_code(code).next_step


@pytest.mark.parametrize("played", ["2.3.0/finished-before", "2.3.0/main-runs"])
def test_a_job_that_ran_to_its_end_or_runs_has_none(played):
    assert not of_rule(played, ERROR)
