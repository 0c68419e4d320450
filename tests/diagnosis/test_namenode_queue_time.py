"""namenode.queue_time: by the median of its readings, in two grades, and unknown where it is
silent.

No NameNode ran here.
"""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings

LIMITS = registry.limits()


def judged(*queue_ms: float):
    return registry.diagnose(
        NameNodeReadings(
            "prod-eu", 1_795_234_560_000, queue_ms, 0.4, 900, 5_000.0, {"create": 900.0}
        ),
        LIMITS,
    )


@pytest.mark.parametrize(
    ("queue_ms", "severity"),
    [
        ((0.4, 0.3, 0.5, 0.4), None),
        ((0.4, 30_000.0, 0.5, 0.4), None),
        ((99.0, 99.9, 99.0), None),
        ((0.4, 100.0, 120.0), "warning"),
        ((1_500.0, 900.0, 1_000.0), "critical"),
    ],
)
def test_it_is_judged_by_the_median_of_its_readings(queue_ms, severity):
    diagnosis = judged(*queue_ms)
    assert [one.severity for one in diagnosis.findings] == ([severity] if severity else [])
    assert not diagnosis.unknowns


def test_the_finding_names_what_is_called_most_and_the_waits():
    (finding,) = judged(200.0, 300.0, 4_000.0).findings
    assert "create 900/s" in finding.cause
    assert {one.name: one.value for one in finding.evidence} == {
        "wait in the queue": 300.0,
        "time a call is worked on": 0.4,
        "calls in the queue": 900,
        "calls of all clients": 5_000.0,
    }


@pytest.mark.parametrize("queue_ms", [(), (5_000.0, 5_000.0)])
def test_too_few_readings_are_unknown(queue_ms):
    diagnosis = judged(*queue_ms)
    assert not diagnosis.findings
    assert "fewer than three readings" in diagnosis.unknowns[0].missing
