"""operator.error and operator.snapshot_leak."""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.operator_samples import OperatorStatus, StateSnapshot

HOUR_MS = 3_600_000
RESOURCE = "FlinkDeployment shop/orders"


def said(rule, **values):
    status = OperatorStatus("shop.orders", HOUR_MS, **values)
    return registry.diagnose(status, only=[rule]).findings


def test_an_error_is_told_of_its_resource():
    errors = (
        (RESOURCE, "spec.job.parallelism must be larger than 0"),
        ("FlinkSessionJob s/x", "y"),
    )
    found = said("operator.error", errors=errors)
    assert [finding.subject_id for finding in found] == [RESOURCE, "FlinkSessionJob s/x"]
    assert found[0].evidence[0].value == "spec.job.parallelism must be larger than 0"


def test_a_known_cause_is_named():
    quota = "pods x is forbidden: exceeded quota: compute, requested: cpu=4, used: cpu=9"
    (finding,) = said("operator.error", errors=((RESOURCE, quota),), is_down=True)
    assert finding.data["cause"]


def test_without_an_error_there_is_none():
    assert not said("operator.error")


@pytest.mark.parametrize(
    "leak",
    [
        StateSnapshot("a", "COMPLETED", deleted_at_ms=HOUR_MS - 600_000, path="s3://sp/1"),
        StateSnapshot("b", "COMPLETED", has_owner=False, path="s3://sp/1"),
        StateSnapshot("c", "TRIGGER_PENDING", failures=3, error="timeout", path="s3://sp/1"),
    ],
)
def test_a_snapshot_that_is_never_cleaned_up_is_told_with_its_path(leak):
    (finding,) = said("operator.snapshot_leak", snapshots=(leak,))
    assert finding.data["paths"] == ["s3://sp/1"]


@pytest.mark.parametrize(
    "fine",
    [
        StateSnapshot("a", "COMPLETED", deleted_at_ms=HOUR_MS - 599_000),
        StateSnapshot("b", "FAILED", has_owner=False),
        StateSnapshot("c", "TRIGGER_PENDING", failures=2, error="timeout"),
        StateSnapshot("d", "FAILED", failures=9, error="timeout"),
    ],
)
def test_one_that_is_being_deleted_that_has_no_files_or_is_given_up_is_none(fine):
    assert not said("operator.snapshot_leak", snapshots=(fine,))
