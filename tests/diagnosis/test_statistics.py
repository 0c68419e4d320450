"""Figures of small and of large samples, recounted in fractions."""

from fractions import Fraction
from math import comb

import pytest

from spark_jobs.diagnosis.statistics import at_least_by_chance


@pytest.mark.parametrize(
    ("hits", "tries", "chance"),
    [
        (0, 5, (1, 2)),
        (3, 3, (1, 2)),
        (4, 9, (1, 3)),
        (5, 9, (0, 1)),
        (5, 9, (1, 1)),
        (120, 2_000, (1, 20)),
        (1_300, 2_000, (1, 2)),
    ],
)
def test_the_chance_of_at_least_so_many_is_that_of_exact_fractions(hits, tries, chance):
    each = Fraction(*chance)
    exact = sum(
        comb(tries, k) * each**k * (1 - each) ** (tries - k) for k in range(hits, tries + 1)
    )
    assert at_least_by_chance(hits, tries, float(each)) == pytest.approx(float(exact), rel=1e-9)


def test_more_hits_than_tries_never_happen():
    assert at_least_by_chance(4, 3, 0.5) == 0


def test_a_million_tries_are_counted_without_a_million_terms_that_overflow():
    assert 0.4 < at_least_by_chance(500_000, 1_000_000, 0.5) < 0.6
