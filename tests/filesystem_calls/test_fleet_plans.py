"""Bursts, staggering and balance of random small fleets, against every second and every way to do
it.
"""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.filesystem_calls.balance import balanced
from spark_jobs.filesystem_calls.bursts import Periodic, Written, by_second, staggered

SECONDS = 24
WRITTEN = st.builds(Written, st.floats(-5, 30), st.floats(0, 9), st.integers(0, 100))
JOBS = st.lists(
    st.builds(
        Periodic, st.integers(0, 5), st.integers(2, 6), st.integers(1, 2), st.integers(1, 50)
    ),
    min_size=1,
    max_size=4,
)
LOADS = st.lists(st.tuples(st.integers(1, 100), st.sampled_from("ab")), min_size=1, max_size=7)


@settings(deadline=None)
@given(st.lists(WRITTEN, max_size=8))
def test_calls_of_each_second_are_those_of_the_checkpoints_under_way(checkpoints):
    found = by_second(checkpoints, SECONDS)
    for second in range(SECONDS):
        told = 0.0
        for one in checkpoints:
            lasts = max(1, -int(-one.duration_s // 1))
            began = int(one.start_s // 1)
            told += one.calls / lasts if began <= second < began + lasts else 0
        assert found[second] == pytest.approx(told)


def peak(jobs, later):
    """Second by second, of checkpoints at start + n periods."""
    worst = 0.0
    for second in range(SECONDS):
        calls = 0.0
        for job, shift in zip(jobs, later, strict=True):
            first = (job.start_s + shift) % job.period_s
            running = [n for n in range(SECONDS) if first + n * job.period_s < SECONDS]
            began = [first + n * job.period_s for n in running]
            calls += sum(
                job.calls / job.duration_s for at in began if at <= second < at + job.duration_s
            )
        worst = max(worst, calls)
    return worst


@settings(max_examples=60, deadline=None)
@given(JOBS)
def test_a_staggered_fleet_has_the_peak_that_a_recount_finds_never_above_now_nor_below_the_best_of_all(
    jobs,
):
    found = staggered(jobs, SECONDS)
    assert found.before == pytest.approx(peak(jobs, [0] * len(jobs)))
    assert found.after == pytest.approx(peak(jobs, found.later_s))
    best = min(peak(jobs, later) for later in product(*(range(job.period_s) for job in jobs)))
    assert best - 1e-9 <= found.after <= found.before


def test_jobs_that_fit_between_each_other_do_not_meet():
    jobs = [Periodic(0, 6, 2, 100)] * 3
    found = staggered(jobs, 60)
    assert (found.before, found.after) == (150, 50)


@settings(deadline=None)
@given(LOADS, st.integers(0, 1))
def test_balance_is_within_grahams_bound_of_the_best_and_its_figures_are_those_of_its_moves(
    jobs, empty
):
    per_s, at = [load for load, _name in jobs], [name for _load, name in jobs]
    groups = ["a", "b", *"c"[:empty]]
    found = balanced(per_s, at, groups)

    def worst(placed):
        return max(
            sum(load for load, name in zip(per_s, placed, strict=True) if name == group)
            for group in groups
        )

    targets = {move.job: move.target for move in found.moves}
    assert all(move.source == at[move.job] != move.target for move in found.moves)
    placed = [targets.get(job, name) for job, name in enumerate(at)]
    for group in groups:
        assert found.before[group] == sum(load for load, name in jobs if name == group)
        assert found.after[group] == sum(
            load for load, name in zip(per_s, placed, strict=True) if name == group
        )
    best = min(worst(ways) for ways in product(groups, repeat=len(jobs)))
    assert worst(placed) <= worst(at)
    assert worst(placed) <= best * (4 / 3 - 1 / (3 * len(groups))) + 1e-9


def test_a_balanced_fleet_moves_no_job():
    assert balanced([5, 5], ["a", "b"], ["a", "b"]).moves == ()
