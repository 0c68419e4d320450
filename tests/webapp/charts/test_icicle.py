"""Boxes of a flame graph: as wide as their samples, each below the one that calls it."""

import pytest

from ingest.flink_rest.payloads.flame_graph import flame_graph
from tests.flame_graphs import VERSIONS, graphs
from webapp.charts.icicle import MOST_ROWS, icicle

FRAMES = [
    (0, "root", 10),
    (1, "java.lang.Thread.run:840", 10),
    (2, "org.apache.flink.A.run:1", 10),
    (3, "shop.Enrich.map:3", 6),
    (4, "java.net.Socket.read:-2", 2),
    (3, "org.apache.flink.B.take:3", 4),
    (4, "jdk.internal.misc.Unsafe.park:-2", 4),
]


def percent(text):
    return float(text.rstrip("%"))


def places(picture):
    return {box.name: (box.row, percent(box.x), percent(box.width)) for box in picture.boxes}


def test_a_box_begins_where_its_caller_does_or_where_its_sibling_ended():
    found = places(icicle(FRAMES))
    assert found["all samples"] == (0, 0, 100)
    assert found["shop.Enrich.map:3"] == (2, 0, 60)
    assert found["java.net.Socket.read:-2"] == (3, 0, 20)
    assert found["org.apache.flink.B.take:3"] == (2, 60, 40)
    assert found["jdk.internal.misc.Unsafe.park:-2"] == (3, 60, 40)


def test_calls_that_are_the_same_in_every_sample_are_folded_but_the_last():
    picture = icicle(FRAMES)
    assert picture.folded == 1
    assert "java.lang.Thread.run:840" not in places(picture)
    assert places(picture)["org.apache.flink.A.run:1"] == (1, 0, 100)


def test_the_jobs_own_code_is_marked_and_labels_are_class_and_method():
    own = [box for box in icicle(FRAMES).boxes if box.is_own]
    assert [(box.label, box.samples, box.share) for box in own] == [("Enrich.map", 6, "60 %")]


def test_nothing_is_drawn_where_there_is_no_sample():
    assert icicle([(0, "root", 0)]).boxes == icicle([]).boxes == ()


def test_a_deep_graph_is_cut_and_narrow_boxes_are_left_out():
    deep = [(depth, f"shop.A.m{depth}:1", 1000) for depth in range(200)]
    assert icicle(deep).height == 18 * MOST_ROWS
    assert icicle([(0, "root", 10_000), (1, "shop.A.m:1", 1)]).left_out == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_boxes_of_recorded_graphs_lie_within_those_above(version):
    for one in graphs(version):
        frames = [
            (frame.depth, frame.name, frame.samples) for frame in flame_graph(one["body"]).frames
        ]
        boxes = icicle(frames).boxes
        for box in boxes[1:]:
            left, right = percent(box.x), percent(box.x) + percent(box.width)
            above = [other for other in boxes if other.row == box.row - 1]
            assert any(
                percent(o.x) - 0.01 <= left and right <= percent(o.x) + percent(o.width) + 0.01
                for o in above
            ), box
