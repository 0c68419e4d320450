"""replication.lag: a copy far behind, a copy that never came to be, and what must stay quiet."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.replica_samples import ReplicaSample

LIMITS = registry.limits()
COPIED = ReplicaSample(
    "c",
    "a" * 32,
    1_795_234_560_000,
    "hdfs://other/copies/orders",
    90_000_000,
    12,
    60_000,
    job_name="orders",
)


def said(sample: ReplicaSample) -> list[tuple[str, str]]:
    diagnosis = registry.diagnose(sample, LIMITS)
    assert not diagnosis.unknowns
    return [(finding.severity, finding.title) for finding in diagnosis.findings]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (COPIED, []),
        (replace(COPIED, behind_ms=899_999, trouble="full"), []),
        (replace(COPIED, behind_ms=900_000), [("warning", "The copy is 15 min behind")]),
        (replace(COPIED, behind_ms=7_200_000), [("critical", "The copy is 2 h behind")]),
        (replace(COPIED, behind_ms=7_200_000, ended=True), []),
        (replace(COPIED, checkpoint_id=None, behind_ms=None, since_request_ms=60_000), []),
        (
            replace(COPIED, checkpoint_id=None, behind_ms=None, since_request_ms=1_200_000),
            [("warning", "No copy is complete 20 min after it was requested")],
        ),
    ],
)
def test_a_copy_is_judged_by_what_would_be_lost_with_the_original(
    sample: ReplicaSample, expected: list[tuple[str, str]]
) -> None:
    assert said(sample) == expected


def test_why_the_last_try_failed_is_the_cause() -> None:
    (finding,) = registry.diagnose(
        replace(COPIED, behind_ms=900_000, trouble="No space left"), LIMITS
    ).findings
    assert "No space left" in finding.cause and finding.data["checkpoint_id"] == 12


def test_where_its_trigger_is_not_known_nothing_is_said() -> None:
    (unknown,) = registry.diagnose(replace(COPIED, behind_ms=None), LIMITS).unknowns
    assert unknown.rule == "replication.lag"
