"""Advised intervals and time-outs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.diagnosis.advice import (
    InForce,
    interval_advice,
    pause_advice,
    settings_advice,
    timeout_advice,
)
from spark_jobs.diagnosis.duration_history import durations_of, rounded_up_ms
from spark_jobs.diagnosis.samples import CheckpointSample
from tests.diagnosis.jobs import checkpoint, minutely, savepoint

DAY_MS = 86_400_000
DAY_START = 1_790_000_000_000 // DAY_MS * DAY_MS
SET = InForce(interval_ms=3_000, min_pause_ms=0, timeout_ms=600_000)


def took_ms(at_ms, duration_ms, outcome="completed", **values):
    return CheckpointSample(1, at_ms, outcome, end_to_end_ms=duration_ms, **values)


def at_once(durations, outcome="completed", **values):
    return [
        took_ms(DAY_START + index, duration, outcome, **values)
        for index, duration in enumerate(durations)
    ]


def durations(*samples):
    return durations_of(samples, None)


def quick(count=100, took=300):
    return durations(*at_once([took] * count))


def day_of(checkpoint_ms, savepoints=(), expired=()):
    """Checkpoints over more than a day."""
    own = [took_ms(DAY_START + DAY_MS * part // 100, checkpoint_ms) for part in range(120)]
    return durations(
        *own, *at_once(savepoints, is_savepoint=True), *at_once(expired, outcome="expired")
    )


def test_one_outlier_in_a_hundred_does_not_decide():
    assert durations(*at_once([1_000] * 99 + [500_000])).p99_ms == 1_000


def test_too_little_history_advises_nothing_and_says_so():
    advice = settings_advice(minutely(99), SET)
    assert (advice.interval, advice.min_pause, advice.timeout) == (None, None, None)
    assert "99 of at least 100" in advice.missing[0]


def test_the_interval_of_a_healthy_job_is_left_alone():
    advised = interval_advice(quick(took=300), SET)
    assert (advised.value_ms, pause_advice(advised, SET).value_ms) == (3_000, 0)
    assert "left as it is" in advised.why


def test_a_job_that_is_in_checkpoints_half_of_the_time_gets_a_longer_interval_and_a_pause():
    advised = interval_advice(quick(took=2_000), SET)
    assert (advised.value_ms, pause_advice(advised, SET).value_ms) == (5_000, 2_500)


def test_a_pause_is_not_shortened_with_a_longer_interval():
    paused = replace(SET, min_pause_ms=4_000)
    assert pause_advice(interval_advice(quick(took=2_000), paused), paused).value_ms == 4_000


def test_the_minimum_of_the_fleet_lengthens():
    advised = interval_advice(quick(), replace(SET, fleet_minimum_ms=45_000))
    assert advised.value_ms == 45_000
    assert "minimum interval of the fleet" in advised.why


def test_no_pause_below_the_minimum_of_the_fleet_is_advised():
    for now, pause_ms in ((SET, 5_000), (replace(SET, min_pause_ms=9_000), 9_000)):
        within = replace(now, fleet_pause_ms=5_000)
        assert pause_advice(interval_advice(quick(), within), within).value_ms == pause_ms


def test_an_interval_that_is_not_known_is_not_advised_on():
    assert interval_advice(quick(), InForce()).value_ms is None
    assert pause_advice(interval_advice(quick(), InForce()), InForce()).value_ms is None


def test_expired_checkpoints_count_with_the_time_they_were_given():
    """p99 of those that completed looks the better, the more expired."""
    took = durations(*at_once([1_000] * 100), *at_once([10_000] * 5, outcome="expired"))
    assert (took.p99_ms, took.expired) == (10_000, (10_000,) * 5)
    assert interval_advice(took, SET).value_ms == 20_000


def test_a_time_out_is_shortened_after_a_day_with_savepoints_and_without_expiries():
    advised = timeout_advice(day_of(1_000, savepoints=[40_000] * 5), SET)
    assert advised.value_ms == 120_000
    assert "failed 0 of 120 completed checkpoints and 0 of 5 completed savepoints" in advised.why


@pytest.mark.parametrize(
    ("took", "why"),
    [
        (
            durations(*at_once([300] * 120), *at_once([500] * 5, is_savepoint=True)),
            "a shorter one needs a day",
        ),
        (day_of(300, savepoints=[467, 174, 541]), "3 completed savepoints known of at least 5"),
        (day_of(300), "0 completed savepoints known"),
        (day_of(300, savepoints=[500] * 5, expired=[600_000]), "1 expired"),
    ],
    ids=["seconds of history", "three savepoints", "no savepoint", "expired"],
)
def test_a_time_out_is_not_shortened_by_little_evidence(took, why):
    advised = timeout_advice(took, SET)
    assert advised.value_ms == 600_000
    assert why in advised.why


def test_a_time_out_that_is_too_short_is_lengthened_at_once():
    assert timeout_advice(quick(took=2_000), replace(SET, timeout_ms=4_000)).value_ms == 60_000
    assert timeout_advice(day_of(300, savepoints=[400_000]), SET).value_ms == 1_200_000


def test_what_a_time_out_would_have_failed_is_counted():
    slow_once = durations(*at_once([1_000] * 200), *at_once([500_000]))
    assert (
        "failed 1 of 201 completed checkpoints"
        in timeout_advice(slow_once, replace(SET, timeout_ms=30_000)).why
    )


@given(
    st.lists(st.integers(1, 3_600_000), min_size=100, max_size=150),
    st.lists(st.integers(1, 3_600_000), max_size=8),
    st.integers(1_000, 7_200_000),
    st.integers(1_000, 7_200_000),
)
def test_advice_asks_for_no_shorter_interval_and_no_time_out_below_its_floors(
    checkpoints, savepoints, interval_ms, timeout_ms
):
    took = durations(
        *(took_ms(DAY_START + DAY_MS * n // 90, one) for n, one in enumerate(checkpoints)),
        *at_once(savepoints, is_savepoint=True),
    )
    now = InForce(interval_ms, 0, timeout_ms)
    assert interval_advice(took, now).value_ms >= interval_ms
    slow_ms = sorted(checkpoints)[-1 - len(checkpoints) // 100]
    assert timeout_advice(took, now).value_ms >= max(
        60_000, 3 * slow_ms, 3 * max(savepoints, default=0)
    )


def test_advice_reads_a_jobs_checkpoints():
    history = (
        *minutely(120, took=4),
        savepoint(900, 9_000, took=50),
        checkpoint(901, 9_100, "expired"),
        checkpoint(902, 9_200, "declined"),
    )
    took = durations_of(history, 10_000)
    assert (len(took.checkpoints), len(took.savepoints), took.expired) == (120, 1, (10_000,))
    advice = settings_advice(history, replace(SET, timeout_ms=10_000))
    assert (advice.interval.value_ms, advice.timeout.value_ms) == (10_000, 180_000)


@given(st.floats(min_value=1, max_value=1e10))
def test_rounding_never_goes_below(duration_ms):
    assert (
        duration_ms
        <= rounded_up_ms(duration_ms)
        <= max(3 * duration_ms, 1_000, duration_ms + DAY_MS)
    )
