"""Incidents that people had, made after their public reports (``tests/fixtures/field``): what Weir
finds in each is what an expert would say, by facts and not by words.
"""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from spark_jobs.diagnosis.health import health_of
from spark_jobs.serving import FINDING_OCCURRENCE
from tests.first_cycles import served

BUNDLES = Path(__file__).parents[1] / "fixtures" / "field" / "bundles"


class Held:
    """A finding as health reads it."""

    def __init__(self, row):
        self.rule, self.severity, self.confidence = row["rule"], row["severity"], row["confidence"]


@cache
def found(name):
    with tempfile.TemporaryDirectory() as folder:
        rows = served(BUNDLES / name, Path(folder), FINDING_OCCURRENCE)
    return sorted(rows, key=lambda row: (row["window_start"], row["rule"]))


def at_the_end(name):
    """Those of the newest judged minute, by rule."""
    newest = max(row["window_start"] for row in found(name))
    return {row["rule"]: row for row in found(name) if row["window_start"] == newest}


def test_there_is_a_case_for_each_bundle():
    assert {path.name for path in BUNDLES.iterdir()} == {
        "r02-oomkilled",
        "b03-metaspace",
        "r04c-backoff",
        "b05-cannot-map",
        "b09-invalid-txn",
        "r16-no-slots",
        "r51-failed",
        "b24-ha-handle",
    }


@pytest.mark.parametrize(
    ("name", "rule", "code"),
    [
        ("r02-oomkilled", "restart.loop", "CONTAINER_OUT_OF_MEMORY"),
        ("b03-metaspace", "restart.loop", "METASPACE_FULL"),
        ("r04c-backoff", "restart.loop", "STATE_INCOMPATIBLE"),
        ("r16-no-slots", "restart.loop", "NO_RESOURCE_AVAILABLE"),
    ],
)
def test_a_loop_says_its_cause_and_that_causes_own_next_step(name, rule, code):
    loop = [row for row in found(name) if row["rule"] == rule][-1]
    assert loop["severity"] == "critical"
    assert list(loop["data"]["causes"]) == [code]
    assert str(cause_by_code(code).next_step) in str(loop["next_step"])


@pytest.mark.parametrize("name", sorted(path.name for path in BUNDLES.iterdir()))
def test_no_case_is_healthy(name):
    ever = {}
    for row in found(name):
        ever.setdefault(row["rule"], Held(row))
    assert health_of(ever.values()).value <= 70


def test_a_killed_container_is_named_with_its_exit_code():
    [*_, loop] = [row for row in found("r02-oomkilled") if row["rule"] == "restart.loop"]
    assert "exitCode=137" in str(loop["cause"])
    assert len(loop["data"]["lost_taskmanagers"]) == 4


def test_a_loop_that_waits_a_minute_between_attempts_is_one_and_open_at_the_end():
    loop = at_the_end("r04c-backoff")["restart.loop"]
    [episode] = loop["data"]["episodes"]
    assert episode["restarts"] == 13
    assert episode["all_run_again_ms"] is None
    minutes = {
        row["window_start"] for row in found("r04c-backoff") if row["rule"] == "restart.loop"
    }
    assert len(minutes) >= 11
    assert "start from that checkpoint" not in str(loop["next_step"])


def test_slots_that_never_come_are_said_after_two_restarts():
    first = next(row for row in found("r16-no-slots") if row["rule"] == "restart.loop")
    assert first["data"]["episodes"][-1]["restarts"] == 2
    assert "slots that the job needs" in {one["name"] for one in first["evidence"]}
    assert "restart.loop" in at_the_end("r16-no-slots")


def test_a_job_that_failed_for_good_names_its_newest_usable_snapshot():
    ended = at_the_end("r51-failed")["job.failed"]
    assert ended["severity"] == "critical"
    assert ended["data"]["root"] == "java.lang.IllegalStateException"
    assert ended["data"]["frame"] == "com.example.Enrich.map(Enrich.java:7)"
    assert ended["data"]["ended_by"] == "NO_RESTART_STRATEGY"
    assert ended["data"]["snapshot_path"] == "s3://b/ck/d51da0299447e5b27ede41a919e81dca/chk-5"
    [age] = [one for one in ended["evidence"] if "age of that snapshot" in str(one["name"])]
    assert (age["value"], age["unit"]) == (60_000, "ms")


def test_an_operator_that_the_job_does_not_have_is_named():
    ended = at_the_end("b05-cannot-map")["job.failed"]
    assert ended["severity"] == "critical"
    assert ended["data"]["cause"] == "STATE_OF_REMOVED_OPERATOR"
    assert ended["data"]["snapshot_path"] is None
    assert "e30ccce83304773b609843a7d9d3e8d7" in str(ended["cause"])


def test_transactions_that_were_aborted_are_lost_records():
    lost = at_the_end("b09-invalid-txn")["sink.transaction_timeout"]
    assert (lost["severity"], lost["evidence"][0]["value"]) == ("critical", 5)


def test_a_jobmanager_that_cannot_recover_names_the_file_and_the_job():
    crash = at_the_end("b24-ha-handle")["jobmanager.crash_loop"]
    assert (crash["severity"], crash["job_name"]) == ("critical", "b24-ha-handle")
    assert crash["data"]["path"] == "/flink-data/ha/orders/completedCheckpoint4d1c2f7a99aa"
    assert crash["data"]["cause"] == "HA_STORE_BROKEN"
