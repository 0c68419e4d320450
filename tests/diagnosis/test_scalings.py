"""Scalings of the autoscaler: what it reports, what each cost, and which did not help."""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.samples import Annotation, JobStart
from spark_jobs.diagnosis.scalings import Scaling, scalings
from tests.diagnosis.jobs import LIMITS, ms, window

ID, OTHER = "a" * 32, "b" * 32
ENTRY = (
    "{{ Vertex ID {} | Parallelism {} -> {} | Processing capacity {} -> {} | Target data rate {}}}"
)
UP = "Scaling execution enabled, begin scaling vertices:" + ENTRY.format(
    ID, 2, 4, "100.00", "200.00", "150.00"
)
NO_GAIN = (
    f"Ineffective scaling detected for {ID} (expected increase: 100.0, actual increase 1.5E0). "
    "Blocking of ineffective scaling decisions is disabled"
)


def said(at_s, reason, text):
    return Annotation(ms(at_s), "operator", reason, {"said": text, "path": None})


def restart(at_s, total_ms=20_000):
    return JobStart(ms(at_s), "rescale", ms(at_s) + total_ms, total_ms)


def test_a_report_is_read_with_each_vertex_its_rates_and_the_restart_that_followed():
    text = UP + ENTRY.format(OTHER, 8, 6, "NaN", "Infinity", "7,50")
    found = scalings([said(10, "ScalingReport", text)], [restart(0), restart(40), restart(90)])
    assert found == [
        Scaling(ms(10), ID, 2, 4, 150.0, 100.0, 200.0, 20_000),
        Scaling(ms(10), OTHER, 8, 6, 7.5, None, None, 20_000),
    ]


def test_a_scaling_without_a_restart_before_the_next_has_no_known_cost():
    reports = [said(at_s, "ScalingReport", UP) for at_s in (10, 60)]
    assert [one.lost_ms for one in scalings(reports, [restart(70)])] == [None, 20_000]


@pytest.mark.parametrize(
    "text",
    [
        UP.replace("enabled, begin", "disabled by config x:true, recommended"),
        UP[:60],
        UP.replace(ID, "x" * 32),
        "",
    ],
)
def test_advice_and_what_is_no_report_is_no_scaling(text):
    assert scalings([said(10, "ScalingReport", text)], []) == []


def judged(*annotations, at=600):
    judged = window(annotations=annotations, starts=(restart(40),), at=at)
    return registry.diagnose(judged, LIMITS, only=["scaling.ineffective"]).findings


def test_a_scaling_that_did_not_help_is_told_with_its_gain_and_the_time_lost():
    reports = said(10, "ScalingReport", UP), said(500, "IneffectiveScaling", NO_GAIN)
    (finding,) = judged(*reports)
    assert finding.subject_id == ID
    assert [one.value for one in finding.evidence] == [1.5, 100.0, 20_000]


@pytest.mark.parametrize(
    "annotations",
    [
        (said(10, "ScalingReport", UP),),
        (said(10, "ScalingReport", UP), said(5, "IneffectiveScaling", NO_GAIN)),
        (
            said(10, "ScalingReport", UP),
            said(50, "IneffectiveScaling", NO_GAIN),
            said(90, "ScalingReport", UP),
        ),
    ],
)
def test_one_that_nobody_complained_of_or_that_another_followed_is_none(annotations):
    assert not judged(*annotations)
