"""Flame graphs as real releases of Flink answer them, and as nobody should."""

import re

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.payloads.flame_graph import DEEPEST, MOST_NODES, FlameGraphState, flame_graph
from tests.flame_graphs import VERSIONS, answers, graphs, stacks


def node(name="a.B.c:1", value=1, children=()):
    return {"name": name, "value": value, "children": list(children)}


def answer(root):
    return {"endTimestamp": 1_795_400_786_240, "data": root}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_frame_of_a_recorded_graph_is_read_with_its_samples(version):
    told = graphs(version) + graphs(version, kind="off_cpu") + graphs(version, kind="on_cpu")
    assert len(told) == 9
    for one in told:
        read = flame_graph(one["body"])
        assert read.state == FlameGraphState.SAMPLED
        assert round(read.sampled_at.timestamp() * 1000) == one["body"]["endTimestamp"]
        assert read.frames[0].samples == sum(stacks(one["body"]).values())
        assert sum(frame.samples for frame in read.frames) == sum(
            len(stack) * count for stack, count in stacks(one["body"]).items()
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_graph_that_is_being_sampled_and_one_that_is_switched_off_are_told_apart(version):
    asked = [one for one in answers(version) if "/flamegraph" in one["path"]]
    first = next(one for one in asked if one["incident"] == "busy-source")
    assert flame_graph(first["body"]).state == FlameGraphState.SAMPLING
    off = [one for one in asked if one["incident"] == "hot-state"]
    assert {flame_graph(one["body"]).state for one in off} == {FlameGraphState.OFF}


def test_a_vertex_that_has_ended_has_no_graph():
    assert flame_graph({"endTimestamp": -1}).state == FlameGraphState.ENDED


def deep(levels):
    root = node()
    for _ in range(levels):
        root = node(children=[root])
    return root


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ([], "answer"),
        ({"endTimestamp": "soon"}, "endTimestamp"),
        ({"endTimestamp": True}, "endTimestamp"),
        ({"endTimestamp": 1, "data": []}, "data"),
        (answer({"name": "root", "children": []}), "data.value"),
        (answer({"value": 1, "children": []}), "data.name"),
        (answer(node(value=-5)), "data.value"),
        (answer(node(value=1, children=[node(value=2)])), "data: its children hold 2 samples"),
        (answer({"name": "root", "value": 1, "children": {}}), "data.children"),
        (answer(node(children=[7])), "data at depth 1"),
        (
            answer(node(value=MOST_NODES, children=[node() for _ in range(MOST_NODES)])),
            "more than 50,000 frames",
        ),
        (answer(deep(DEEPEST + 1)), "frames deep"),
        ({"endTimestamp": 10**40, "data": node()}, "endTimestamp"),
        ({"data": node()}, "endTimestamp"),
    ],
)
def test_a_bad_answer_is_skipped_with_the_place(body, place):
    with pytest.raises(Skipped, match=re.escape(place)):
        flame_graph(body)


def test_names_are_bounded_and_clean():
    [frame] = flame_graph(answer(node(name="x" * 100_000))).frames
    assert len(frame.name) == 300
    assert "\x00" not in flame_graph(answer(node(name="a\x00b"))).frames[0].name
