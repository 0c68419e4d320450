"""Areas for sizes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webapp.charts.treemap import Rect, squarified

SIZES = st.lists(st.integers(1, 10**12), min_size=1, max_size=60).map(
    lambda sizes: sorted(sizes, reverse=True)
)


@given(SIZES, st.integers(50, 2000), st.integers(50, 2000))
@example(
    [10**12, 2657, 2657], 57, 51
)  # what is left for the small ones is thinner than a rounding error of the whole
def test_areas_are_the_shares_of_the_sizes_and_fill_the_frame(sizes, width, height):
    boxes = squarified(sizes, Rect(0, 0, width, height))
    whole = sum(sizes)
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(
            size / whole * width * height, rel=1e-6, abs=1e-3
        )
        assert -1e-6 <= box.x <= box.x + box.width <= width + 1e-6
        assert -1e-6 <= box.y <= box.y + box.height <= height + 1e-6


@given(SIZES)
def test_no_two_boxes_overlap(sizes):
    boxes = squarified(sizes, Rect(0, 0, 600, 400))
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert across <= 1e-6 or down <= 1e-6


def test_equal_sizes_become_nearly_square_boxes():
    assert all(
        0.5 < box.width / box.height < 2 for box in squarified([1] * 12, Rect(0, 0, 400, 300))
    )


def test_nothing_to_draw_gives_empty_boxes():
    assert [box.width for box in squarified([0, 0], Rect(0, 0, 400, 300))] == [0, 0]
