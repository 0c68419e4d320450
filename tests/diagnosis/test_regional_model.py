"""Regional checkpoints by both limits: the formula against checkpoints that are played one by one,
and against closed forms.
"""

import random
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.diagnosis.regional_model import Outcomes, at_most, regional_share, task_success

PLAYED = 30_000


def played(failure: float, parts: int, allowed: int, reuse: int) -> float:
    """Each part of each checkpoint drawn by itself; one that fails changes nobody's count."""
    draw, carried, completed = random.Random(7), [0] * parts, 0
    for _ in range(PLAYED):
        failed = [draw.random() < failure for _ in range(parts)]
        if sum(failed) <= allowed and not any(
            one and carried[at] >= reuse for at, one in enumerate(failed)
        ):
            completed += 1
            carried = [count + 1 if one else 0 for count, one in zip(carried, failed, strict=True)]
    return completed / PLAYED


CASES = [
    (0.02, 10, 2, 1),
    (0.1, 8, 2, 1),
    (0.1, 8, 8, 1),
    (0.1, 8, 8, 2),
    (0.3, 4, 2, 2),
    (0.3, 6, 1, 3),
    (0.05, 40, 4, 2),
    (0.05, 40, 1, 1),
    (0.2, 20, 4, 3),
    (0.5, 3, 3, 1),
    (0.01, 60, 12, 1),
]


@pytest.mark.parametrize(("failure", "parts", "allowed", "reuse"), CASES)
def test_the_formula_is_what_checkpoints_played_one_by_one_come_to(failure, parts, allowed, reuse):
    exact = allowed >= parts
    assert regional_share(failure, parts, allowed, reuse) == pytest.approx(
        played(failure, parts, allowed, reuse), abs=0.01 if exact else 0.02
    )


@given(st.floats(0, 1), st.integers(1, 300), st.integers(0, 300), st.integers(0, 8))
@settings(max_examples=80)
def test_it_is_a_share_never_below_a_full_checkpoint_and_never_falls_with_a_wider_limit(
    failure, parts, allowed, reuse
):
    share = regional_share(failure, parts, allowed, reuse)
    assert 0 <= share <= 1
    assert share >= (1 - failure) ** parts - 0.02
    assert (
        regional_share(failure, parts, parts, reuse + 1)
        >= regional_share(failure, parts, parts, reuse) - 1e-9
    )


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.001, 0.999))
@settings(max_examples=60)
def test_the_tail_is_that_of_the_binomial_distribution(parts, allowed, failure):
    plain = sum(
        comb(parts, count) * failure**count * (1 - failure) ** (parts - count)
        for count in range(min(allowed, parts) + 1)
    )
    assert at_most(parts, allowed, failure) == pytest.approx(plain, abs=1e-9)


def test_a_large_job_is_worked_out_at_once():
    assert regional_share(1e-4, 5_000, 1_000, 3) == pytest.approx(1, abs=1e-6)
    assert regional_share(1e-4, 5_000, 1_000, 0) == pytest.approx(0.6065, abs=1e-4)
    assert 0 <= regional_share(0.3, 50_000, 20_000, 2) <= 1e-6


def test_the_rate_of_a_task_is_the_root_of_its_completed_share():
    assert task_success(Outcomes(90, 10, 20)) == pytest.approx(0.9 ** (1 / 20))
    assert (task_success(Outcomes(9, 0, 20)), task_success(Outcomes(0, 9, 20))) == (1.0, 0.0)
