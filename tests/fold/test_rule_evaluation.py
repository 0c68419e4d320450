"""What an audit found of the newest retained checkpoint reaches the rules, in windows after the
audit alone.
"""

from dataclasses import asdict

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.plain import recovery_point_from_plain
from spark_jobs.diagnosis.samples import RecoveryPoint
from spark_jobs.fold.rule_evaluation import judged
from tests.diagnosis.jobs import minutely, ms, savepoint, window

BROKEN = RecoveryPoint(3, ms(600), "s3://b/chk-3/_metadata", missing_files=2, missing_bytes=100)


def rules_told(point, *checkpoints, at=700):
    return {
        finding["rule"]: finding
        for finding in judged([window(*checkpoints, at=at)], registry.limits(), point)[
            "occurrences"
        ]
    }


def test_a_checkpoint_that_lacks_files_leaves_its_job_unprotected():
    finding = rules_told(BROKEN, *minutely(12))["checkpoint.unprotected"]
    assert finding["severity"] == "critical"
    assert finding["evidence"][0]["value"] == 2


def test_windows_before_the_audit_know_nothing_of_it():
    assert "checkpoint.unprotected" not in rules_told(BROKEN, *minutely(8), at=500)


def test_without_an_audit_nothing_is_said():
    assert "checkpoint.unprotected" not in rules_told(None, *minutely(12))


def test_a_savepoint_since_the_audit_protects_the_job():
    assert "checkpoint.unprotected" not in rules_told(BROKEN, *minutely(10), savepoint(13, 650))


def test_a_savepoint_before_the_audit_does_not_count():
    assert "checkpoint.unprotected" in rules_told(BROKEN, *minutely(10), savepoint(13, 590))


def test_points_cross_processes_as_plain_data():
    assert recovery_point_from_plain({"cluster": "c", "job_id": "j", **asdict(BROKEN)}) == BROKEN
