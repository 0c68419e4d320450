"""collect.blind."""

import pytest

from spark_jobs.diagnosis.samples import SourceGap
from tests.diagnosis.jobs import found, ms, window

RULE = "collect.blind"


def silent(cycles, **values):
    return window(at=120, gaps=(SourceGap("rest", ms(0), cycles, "connection refused"),), **values)


def test_a_source_that_missed_three_cycles_is_told_with_its_error():
    [finding] = found(silent(3), RULE)
    assert (finding.subject_kind, finding.subject_id, finding.severity) == (
        "cluster",
        "rest",
        "critical",
    )
    assert "connection refused" in finding.cause
    assert finding.evidence[0].value == 3


@pytest.mark.parametrize("cycles", [0, 1, 2])
def test_fewer_are_a_hiccup(cycles):
    assert not found(silent(cycles), RULE)


def test_a_job_that_ended_is_not_unreachable():
    assert not found(silent(9, terminal=True), RULE)
