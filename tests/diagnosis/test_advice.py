"""Advised intervals and time-outs, and the what-if of regional checkpoints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.diagnosis.advice import interval_advice, regional_what_if
from spark_jobs.diagnosis.interval_advice import HOUR_MS, Took, advise, rounded_up_ms
from spark_jobs.diagnosis.regional_advice import Attempt, full_success, parts_of, region_size, regional_success, regions_of, replay
from spark_jobs.diagnosis.samples import Edge, Vertex
from tests.diagnosis.jobs import checkpoint, minutely, savepoint

DAY_START = 1_790_000_000_000 // (24 * HOUR_MS) * 24 * HOUR_MS


def in_hour(hour, durations):
    return [Took(DAY_START + hour * HOUR_MS + index, took) for index, took in enumerate(durations)]


def test_the_worst_hour_of_the_day_decides():
    advice = advise(in_hour(3, [1_000] * 100) + in_hour(12, [9_000] * 100))
    assert (advice.p99_ms, advice.worst_hour) == (9_000, 12)
    assert (advice.interval_ms, advice.min_pause_ms, advice.timeout_ms) == (20_000, 10_000, 60_000)


def test_one_outlier_in_a_hundred_does_not_decide():
    assert advise(in_hour(3, [1_000] * 99 + [500_000])).p99_ms == 1_000


def test_without_enough_in_any_hour_all_hours_together_count():
    spread = [took for hour in range(24) for took in in_hour(hour, [2_000] * 10)]
    assert (advise(spread).p99_ms, advise(spread).worst_hour) == (2_000, None)


def test_too_little_history_advises_nothing_and_says_so():
    advice = advise(in_hour(3, [1_000] * 99))
    assert advice.interval_ms is None
    assert "99 of at least 100" in advice.missing[0]


def test_savepoints_have_a_time_out_of_their_own():
    advice = advise([*in_hour(3, [1_000] * 100), Took(DAY_START, 400_000, is_savepoint=True)])
    assert (advice.timeout_ms, advice.savepoint_timeout_ms, advice.p99_ms) == (60_000, 900_000, 1_000)
    assert not advice.missing


def test_advice_reads_a_jobs_checkpoints():
    history = (*minutely(120, took=4), savepoint(900, 9_000, took=50), checkpoint(901, 9_100, "expired"))
    advice = interval_advice(history)
    assert (advice.checkpoints, advice.savepoints, advice.interval_ms) == (120, 1, 10_000)


@given(st.floats(min_value=1, max_value=1e10))
def test_rounding_never_goes_below(duration_ms):
    assert duration_ms <= rounded_up_ms(duration_ms) <= max(3 * duration_ms, 1_000, duration_ms + 24 * HOUR_MS)


def test_the_reference_model_is_exact():
    assert round(full_success(0.9999, 5_000), 4) == 0.6065
    assert regional_success(0.9999, 5_000, 0) == pytest.approx(full_success(0.9999, 5_000))
    assert regional_success(0.9, 2, 0.5) == pytest.approx(0.99)


@given(st.floats(0, 1), st.integers(1, 2_000), st.floats(0, 1))
def test_regional_checkpoints_never_succeed_less_often(task_success, parts, share):
    regional = regional_success(task_success, parts, share)
    assert full_success(task_success, parts) <= regional + 1e-9
    assert 0 <= regional <= 1


def lost(id, *parts):
    return Attempt(id, False, frozenset(parts))


def done(id):
    return Attempt(id, True)


def test_a_failure_of_few_parts_is_rescued_and_one_of_many_is_not():
    said = replay([done(1), lost(2, "a"), lost(3, "a", "b", "c")], parts=10, max_failed_share=0.2, max_consecutive_reuse=3)
    assert (said.rescued, said.over_share) == ((2,), (3,))
    assert (said.rescued_share, said.success_share) == (0.5, 2 / 3)


def test_a_part_is_carried_only_so_often_in_a_row():
    history = [done(1), lost(2, "a"), lost(3, "a"), lost(4, "a"), done(5), lost(6, "a")]
    said = replay(history, parts=10, max_failed_share=0.5, max_consecutive_reuse=2)
    assert (said.rescued, said.over_reuse) == ((2, 3, 6), (4,))


def test_another_part_in_between_starts_its_own_count():
    said = replay([done(1), lost(2, "a"), lost(3, "b"), lost(4, "a")], parts=10, max_failed_share=0.5, max_consecutive_reuse=1)
    assert said.rescued == (2, 3, 4)


def test_before_the_first_success_there_is_nothing_to_refer_to():
    assert replay([lost(1, "a")], parts=10, max_failed_share=0.5, max_consecutive_reuse=2).over_reuse == (1,)


def test_a_failure_of_nobody_known_is_not_rescued():
    assert replay([done(1), Attempt(2, False, None)], 10, 1.0, 9).not_known == (2,)


def test_pointwise_edges_keep_subtasks_apart_and_others_join_them():
    vertices = (Vertex("a", "a", 3), Vertex("b", "b", 3), Vertex("c", "c", 2))
    forward, shuffle = Edge("a", "b", "FORWARD"), Edge("b", "c", "HASH")
    assert len(set(regions_of(vertices, [forward]).values())) == 3 + 2
    assert len(set(regions_of(vertices, [forward, shuffle]).values())) == 1


def test_the_region_of_a_task_is_what_restarts_with_it():
    vertices = (Vertex("a", "a", 3), Vertex("b", "b", 3), Vertex("c", "c", 2), Vertex("d", "d", 7))
    forward, shuffle = Edge("a", "b", "FORWARD"), Edge("b", "c", "HASH")
    assert region_size(vertices, [forward], "b") == 2
    assert region_size(vertices, [forward, shuffle], "a") == 8
    assert region_size(vertices, [Edge("b", "c", "RESCALE")], "c") is None


def test_a_job_without_shuffles_would_gain_and_one_with_them_would_not():
    vertices = (Vertex("a", "a", 4), Vertex("b", "b", 4))
    decline = {"vertex_id": "b", "subtask": 1}
    history = (*minutely(3), checkpoint(4, 240, "declined", declines=(decline,)), checkpoint(5, 300))
    limits = {"max_failed_share": 0.25, "max_consecutive_reuse": 3}
    assert regional_what_if(history, vertices, [Edge("a", "b", "FORWARD")], **limits).rescued == (4,)
    assert regional_what_if(history, vertices, [Edge("a", "b", "REBALANCE")], **limits).over_share == (4,)
    assert regional_what_if(history, vertices, [Edge("a", "b", "REBALANCE")], by_subtask=True, **limits).rescued == (4,)


def test_a_failure_in_the_jobmanager_cannot_be_rescued():
    history = (*minutely(3), checkpoint(4, 240, "failed", reason="FINALIZE_CHECKPOINT_FAILURE"))
    assert regional_what_if(history, [Vertex("a", "a", 4)], [], max_failed_share=1, max_consecutive_reuse=9).not_known == (4,)


def test_a_list_that_was_cut_is_not_taken_for_all():
    assert parts_of([{"vertex_id": "a", "subtasks": [0, 1], "count": 900}]) is None
    assert parts_of([{"vertex_id": "a", "subtasks": [0, 1], "count": 2}]) == {"a/0", "a/1"}
    assert parts_of([{"vertex_id": None, "subtasks": [], "count": 3}]) is None
    assert parts_of([]) is None
