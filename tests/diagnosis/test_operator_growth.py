"""state.operator_growth over made-up checkpoints; those that a real Flink wrote are in
tests/webapp/storage/test_operator_state.py.
"""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.operator_growth import growth
from spark_jobs.diagnosis.storage_samples import (
    OperatorStatePoint,
    OperatorStateTrend,
    StorageJobSample,
)

RULE = "state.operator_growth"
AT_MS = 1_795_234_560_000


def trend(*elements, subtasks=4, union=False):
    """One checkpoint an hour; ``subtasks``: of all, or of each."""
    each = subtasks if isinstance(subtasks, tuple) else (subtasks,) * len(elements)
    points = [
        OperatorStatePoint(
            AT_MS + number * 3_600_000,
            number + 1,
            "a" * 32,
            of,
            8 * count,
            0,
            count,
            count if union else 0,
        )
        for number, (count, of) in enumerate(zip(elements, each, strict=True))
    ]
    return OperatorStateTrend("b" * 32, "buffered", tuple(points))


def said(of, **job):
    sample = StorageJobSample(
        "file:/ckpt", "c", "a" * 32, AT_MS, job_name="orders", operator_states=(of,), **job
    )
    return [
        (one.severity, one.data.get("restores"))
        for one in registry.diagnose(sample, registry.limits(), only=[RULE]).findings
    ]


@pytest.mark.parametrize(
    ("of", "findings"),
    [
        (trend(6_000, 12_000), [("info", 0)]),
        (trend(6_000, 11_000), []),
        (trend(3_000, 9_000), []),
        (trend(1_000_000), [("info", None)]),
        (trend(10_000_000), [("warning", None)]),
        (trend(3_000, 12_000, union=True), [("warning", 1)]),
        (trend(3_000, 12_000, 48_000, 48_000, union=True), [("warning", 2)]),
        (trend(200, 51_200, union=True), [("warning", 4)]),
        (trend(4_000, 12_000, union=True), [("info", 0)]),
    ],
)
def test_growth_and_very_many_elements_are_named(of, findings):
    assert said(of) == findings


def test_more_subtasks_are_no_growth():
    assert said(trend(6_000, 24_000, subtasks=(2, 8))) == []
    assert growth(trend(6_000, 24_000, 26_000, subtasks=(2, 8, 8))).since.checkpoint_id == 2


def test_an_ended_job_is_not_named():
    assert said(trend(6_000, 60_000), ended=True) == []
