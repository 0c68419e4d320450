"""Whether two samples differ: never from few values, never within their scatter."""

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.analyses.before_after.job_change import (
    HIGHER,
    LOWER,
    SAME,
    TOO_FEW,
    UNKNOWN,
    compare,
    share_above,
)

BEFORE = [100, 104, 98, 101, 99, 103, 97, 102]


def test_what_is_twice_as_large_is_higher_and_the_other_way_round_lower():
    doubled = [2 * value for value in BEFORE]
    assert compare(BEFORE, doubled).state == HIGHER
    assert compare(doubled, BEFORE).state == LOWER
    assert compare(BEFORE, doubled).change == pytest.approx(1.0)


def test_four_values_tell_nothing_however_far_apart():
    assert compare(BEFORE, [1000, 1000, 1000, 1000]).state == TOO_FEW
    assert compare(BEFORE, []).state == UNKNOWN


def test_noise_of_one_distribution_is_hardly_ever_read_as_a_change():
    random = Random(4711)
    drawn = [[random.lognormvariate(5, 0.6) for _ in range(60)] for _ in range(200)]
    told = sum(
        compare(one, other).state != SAME
        for one, other in zip(drawn[::2], drawn[1::2], strict=True)
    )
    assert told == 0


def test_one_wild_value_is_no_change():
    assert compare(BEFORE, [*BEFORE[:-1], 1e9]).state == SAME


def test_a_shift_of_less_than_a_tenth_is_no_change_however_even():
    assert (
        compare(
            [100.0 + one / 100 for one in range(50)], [105.0 + one / 100 for one in range(50)]
        ).state
        == SAME
    )


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=20),
    st.lists(st.integers(0, 20), min_size=1, max_size=20),
)
def test_the_share_above_is_that_of_all_pairs(before, after):
    pairs = [
        1.0 if late > early else 0.5 if late == early else 0.0
        for early, late in product(before, after)
    ]
    assert share_above(before, after) == pytest.approx(sum(pairs) / len(pairs))
