"""Slopes of days, what follows from them, and what does not."""

from itertools import combinations
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.growth.trends import filled, slope


def test_a_straight_line_is_found_and_reaches_its_limit_when_it_should():
    found = slope({day: 100 + 5 * day for day in range(101, 131)}, 30, 130)
    assert (found.per_day, found.low, found.high) == (5, 5, 5)
    assert found.days_until(found.level + 200) == 40


def test_the_slope_is_the_median_over_all_pairs_of_days():
    values = {day: Random(day).uniform(0, 50) + day for day in range(15)}
    pairs = [(values[b] - values[a]) / (b - a) for a, b in combinations(sorted(values), 2)]
    assert slope(values, 30, 14).per_day == pytest.approx(median(pairs))


def test_one_wild_day_moves_neither_the_slope_nor_the_time_until_the_limit():
    values = {day: 100.0 + day for day in range(30)}
    calm, wild = slope(values, 30, 29), slope(values | {13: 1e9}, 30, 29)
    assert wild.per_day == pytest.approx(calm.per_day, abs=0.01)
    assert wild.days_until(200) == pytest.approx(calm.days_until(200), rel=0.05)


@pytest.mark.parametrize(
    ("days", "window"),
    [(range(26, 29), 7), ((1, 2, 29, 30), 90), (range(26, 30), 30)],
    ids=["three days", "a third", "four of thirty"],
)
def test_a_history_that_is_too_short_for_the_window_tells_no_slope(days, window):
    assert slope(dict.fromkeys(days, 1.0), window, 30) is None


def test_a_limit_is_not_reached_by_what_shrinks_and_is_reached_at_once_by_what_is_above_it():
    shrinking = slope({day: 1000.0 - day for day in range(10)}, 7, 9)
    assert shrinking.days_until(2000) is None
    assert shrinking.days_until(900) == 0


@given(st.lists(st.floats(0, 1e12), min_size=4, max_size=40))
def test_the_interval_holds_the_slope(values):
    found = slope(dict(enumerate(values)), 30, len(values) - 1)
    assert found is None or found.low <= found.per_day <= found.high


def test_a_day_without_a_checkpoint_has_the_size_of_the_day_before():
    assert filled({3: 10, 5: 12}, 6) == {3: 10, 4: 10, 5: 12, 6: 12}
