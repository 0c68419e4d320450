"""What one vertex's metrics say, before anybody is blamed."""

import pytest

from spark_jobs.diagnosis.pressure import Subtasks, output_bounds
from spark_jobs.diagnosis.samples import Edge, VertexWindow


@pytest.mark.parametrize(
    ("consumers", "floor", "ceiling"),
    [(1, 0.1, 1.0), (4, 0.25, 13 / 16), (5000, 5000 / 10008, 5009 / 10008)],
)
def test_an_idle_output_stands_at_its_floor_and_one_hot_channel_lifts_it_to_the_ceiling(
    consumers, floor, ceiling
):
    assert output_bounds([Edge("a", "b", "HASH")], 2, [consumers]) == pytest.approx(
        (floor, ceiling)
    )


def test_a_forward_output_has_one_channel_whatever_the_parallelism():
    assert output_bounds([Edge("a", "b", "FORWARD")], 8, [8]) == pytest.approx((0.1, 1.0))


def test_a_sink_has_no_output_bounds():
    assert output_bounds([], 2, []) is None


def test_the_input_is_the_larger_of_all_and_floating_buffers():
    vertex = Subtasks(VertexWindow("v", 2, in_pool_usage=(0.5, None), floating_usage=(1.0, 0.3)))
    assert [vertex.input_level(index) for index in (0, 1, 2)] == [1.0, 0.3, None]


def test_idle_time_of_old_versions_includes_waiting():
    window = VertexWindow("v", 1, backpressured_ratio=(0.7,), idle_ratio=(0.8,))
    assert Subtasks(window, idle_has_backpressure=True).working(0) == pytest.approx(0.9)
    assert Subtasks(window).working(0) == pytest.approx(0.2)


def test_what_nobody_reported_is_unknown_and_not_zero():
    vertex = Subtasks(VertexWindow("v", 3, busy_ratio=(0.5,)))
    assert (vertex.working(0), vertex.busy(2), vertex.records_in_share((0,))) == (None, None, None)
