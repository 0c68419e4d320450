"""Health from open findings."""

from dataclasses import dataclass
from itertools import permutations
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.diagnosis.findings import CONFIDENCES, Severity
from spark_jobs.diagnosis.health import POINTS, health_of


@dataclass(frozen=True)
class Open:
    rule: str
    severity: str
    confidence: str = "high"


RULES = ("checkpoint.expired", "restart.loop", "pressure.root")
FINDINGS = st.builds(
    Open,
    st.sampled_from(RULES),
    st.sampled_from(get_args(Severity)),
    st.sampled_from(CONFIDENCES),
)


def test_nothing_open_is_100():
    assert health_of([]).value == 100


def test_each_deduction_is_told_with_its_finding():
    expired, loop = Open("checkpoint.expired", "warning"), Open("restart.loop", "critical")
    health = health_of([expired, loop])
    assert health.value == 45
    assert [(one.finding, one.points) for one in health.deductions] == [(loop, 40), (expired, 15)]


def test_many_findings_of_one_rule_weigh_little_more_than_one():
    assert (
        health_of([Open("checkpoint.full_after_savepoint", "warning")] * 20).value == 100 - 15 - 10
    )


def test_no_data_no_health():
    assert health_of([], judged=False).value is None
    assert health_of([Open("checkpoint.expired", "warning")], judged=False).value is None


def test_points_fall_with_severity_and_with_confidence():
    for severity in ("critical", "warning"):
        points = [POINTS[severity, confidence] for confidence in CONFIDENCES]
        assert points == sorted(points)
    assert all(
        POINTS["critical", confidence] >= POINTS["warning", confidence]
        for confidence in CONFIDENCES
    )


@given(st.lists(FINDINGS, max_size=5))
def test_the_order_of_findings_does_not_matter(findings):
    assert len({health_of(order).value for order in permutations(findings)}) == 1


@given(st.lists(FINDINGS, max_size=12), FINDINGS)
def test_one_more_finding_never_makes_a_job_healthier(findings, more):
    assert 0 <= (health_of([*findings, more]).value or 0) <= (health_of(findings).value or 0)
