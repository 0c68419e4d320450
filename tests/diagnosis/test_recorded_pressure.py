"""The rules about pressure and skew on windows that Spark made of recorded clusters."""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Finding
from tests.diagnosis.graphs import LIMITS
from tests.windows import recorded, recorded_windows

RULES = (
    "pressure.root",
    "pressure.outbound",
    "pressure.skew",
    "data.skew",
    "watermark.stalled",
)
UNDER_PRESSURE = ("1.20.5-B", "1.20.5-C2", "1.20.5-F", "1.20.5-L2")
YOUNG = ("1.20.5-G", recorded_windows("1.20.5-G")[0])
"""Its first twenty seconds: nothing was counted for half a minute yet."""


def findings(name: str, *rules: str) -> list[Finding]:
    return [
        one
        for window in recorded_windows(name)
        for one in registry.diagnose(window, LIMITS, rules or RULES).findings
    ]


@pytest.mark.parametrize("name", ["1.20.5-B", "1.20.5-F"])
def test_a_slow_operator_is_the_origin_and_what_precedes_it_waits_for_it(name):
    roots = findings(name, "pressure.root")
    assert {one.subject for one in roots} == {"slow-enrich"}
    paths = {waiting.subject: waiting.path for one in roots for waiting in one.related}
    assert paths == {
        "Source: clicks": ("Source: clicks", "parse", "slow-enrich"),
        "parse": ("parse", "slow-enrich"),
    }


def test_a_hot_key_is_skew_with_its_subtask_and_share():
    assert {one.subject for one in findings("1.20.5-C2", "pressure.root")} == {"slow-enrich"}
    (skew,) = findings("1.20.5-C2", "pressure.skew")
    assert skew.data["hot_subtasks"] == [0]
    assert skew.data["records_in_share"] > 0.8
    assert {
        (one.subject, *one.data["hot_subtasks"]) for one in findings("1.20.5-C2", "data.skew")
    } == {("slow-enrich", 0), ("parse", 1, 3)}


def test_a_job_that_holds_its_barriers_for_channel_state_has_its_origin_too():
    assert {one.subject for one in findings("1.20.5-L2", "pressure.root")} == {"timed-agg"}


@pytest.mark.parametrize("name", [name for name in recorded() if name not in UNDER_PRESSURE])
def test_nobody_is_blamed_where_nobody_waits(name):
    assert not findings(
        name,
        "pressure.root",
        "pressure.outbound",
        "pressure.skew",
        "watermark.stalled",
    )


def test_a_healthy_job_has_nothing_above_info():
    assert not [one for one in findings("1.20.5-A") if one.severity != "info"]


@pytest.mark.parametrize("name", recorded())
def test_every_recorded_window_with_metrics_is_judged(name):
    for window in recorded_windows(name):
        if window.vertex_windows and (name, window) != YOUNG:
            assert not registry.diagnose(window, LIMITS, RULES).unknowns


def test_the_first_twenty_seconds_of_a_job_whose_meters_are_uneven_are_not_judged():
    (unknown,) = registry.diagnose(YOUNG[1], LIMITS, RULES).unknowns
    assert unknown.rule == "data.skew"
