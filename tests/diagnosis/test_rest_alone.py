"""Without any log REST tells of restart loops: by the failures that it keeps, by the time at which
the job became RUNNING, and by its state.
"""

import shutil
import tempfile
from pathlib import Path

import pytest

from spark_jobs.fold.annotations import annotations
from spark_jobs.serving import FINDING_OCCURRENCE
from tests.diagnosis.test_field import BUNDLES
from tests.first_cycles import served
from tests.fold.rows import lake, noon, serving

STARTED = noon(0)


def found_without_logs(bundle):
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "recording"
        shutil.copytree(bundle, recording, ignore=shutil.ignore_patterns("logs"))
        rows = served(recording, Path(folder), FINDING_OCCURRENCE)
    return sorted(rows, key=lambda row: row["window_start"])


@pytest.mark.parametrize(
    ("name", "causes"),
    [
        ("b03-metaspace", {"METASPACE_FULL"}),
        ("r04c-backoff", {"STATE_INCOMPATIBLE"}),
        ("r16-no-slots", {"NO_RESOURCE_AVAILABLE"}),
        # Why its TaskManagers are lost is in the log alone.
        ("r02-oomkilled", {"TASKMANAGERS_DISCONNECTED"}),
    ],
)
def test_a_loop_and_its_root_cause_are_found(name, causes):
    loops = [row for row in found_without_logs(BUNDLES / name) if row["rule"] == "restart.loop"]
    assert loops and {row["severity"] for row in loops} == {"critical"}
    assert set(loops[-1]["data"]["causes"]) == causes


@pytest.mark.parametrize("name", ["b05-cannot-map", "r51-failed"])
def test_a_failure_that_ends_the_job_is_no_restart(name):
    rules = {row["rule"] for row in found_without_logs(BUNDLES / name)}
    assert "job.failed" in rules and "restart.loop" not in rules


def answer(at, state="RUNNING", running=0, start=0, **since):
    entered = {"CREATED": start, "RUNNING": running, **since}
    return {
        "observed_at": noon(at),
        "state": state,
        "start_time": noon(start),
        "state_since": [
            {"state": name, "since": noon(seconds)} for name, seconds in entered.items()
        ],
    }


def failed(*instants):
    return serving(
        "job_exception",
        [
            {"ts": noon(at), "task_key": "", "exception_name": "x.Boom", "is_root": True,
             "as_of": noon(at)}
            for at in instants
        ],
    )  # fmt: skip


def restarts(answers, *failures):
    rows = annotations(lake("jobs", answers), (), (), failures=failed(*failures))
    return [(one["at"] - STARTED) // 1000 for one in rows if one["kind"] == "restart"]


def test_each_failure_that_the_job_survived_is_a_restart_between_two_answers():
    assert restarts([answer(5), answer(305, running=290)], 100, 200, 289) == [100, 200, 289]


def test_a_failure_beside_the_state_that_it_led_to_is_one_restart():
    seen = [answer(5), answer(305, "RESTARTING", RESTARTING=290)]
    assert restarts(seen, 288.5) == [290]


def test_a_job_that_became_running_again_had_restarted_though_nothing_says_why():
    assert restarts([answer(5), answer(305, running=290)]) == [290]


def test_the_last_failure_of_a_job_that_ended_is_no_restart():
    assert restarts([answer(5), answer(305, "FAILED", FAILED=290)], 289) == []


def test_a_failure_of_an_earlier_submission_under_the_same_id_is_no_restart():
    again = answer(400, running=390, start=390)
    assert restarts([answer(5), answer(305, "FAILED", FAILED=290), again], 289) == []


def test_another_graph_after_a_failure_is_one_restart():
    recreated = answer(305, running=300)
    recreated["state_since"][0]["since"] = noon(299)
    assert restarts([answer(5), recreated], 285) == [299]
