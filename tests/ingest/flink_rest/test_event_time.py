"""Which metrics tell how event time passes from one vertex to the next."""

import pytest

from ingest.flink_rest.payloads.event_time import MOST_FEEDERS, feeders, names_to_ask
from ingest.records import Edge

JOIN = {"j": ("a", "b")}


def listed(*operators: str) -> list[str]:
    return [
        "currentInputWatermark",
        "busyTimeMsPerSecond",
        *(f"{one}.currentOutputWatermark" for one in operators),
    ]


def test_only_vertices_that_several_others_feed_are_of_interest() -> None:
    edges = [
        Edge("a", "j"),
        Edge("b", "j"),
        Edge("j", "sink"),
        Edge("a", "self"),
        Edge("a", "self"),
    ]
    assert feeders(edges) == JOIN
    assert not feeders(Edge(str(number), "union") for number in range(MOST_FEEDERS + 1))


@pytest.mark.parametrize(
    ("chain", "operators", "last"),
    [
        (
            "Source: Sequence Source -> first -> first times",
            ("Source__Sequence_Source", "first", "first_times"),
            "first_times",
        ),
        ("parse", ("parse",), "parse"),
        ("[vertex-3]Source: a.b,c", ("Source__a_b_c",), "Source__a_b_c"),
        ("read -> a -> b", ("read", "a_->_b"), "a_->_b"),
        ("read -> " + "x" * 100, ("read", "x" * 80), "x" * 80),
        ("read -> (left, right -> sum)", ("read", "left", "right", "sum"), None),
        ("Map -> Timestamps/Watermarks -> Map", ("Map", "Timestamps/Watermarks"), None),
        ("read -> filter", ("read",), None),
    ],
)
def test_what_a_vertex_sends_on_is_told_by_the_last_operator_of_its_chain(
    chain: str, operators: tuple[str, ...], last: str | None
) -> None:
    asked = names_to_ask("a", chain, listed(*operators), JOIN)
    assert asked == ([] if last is None else [f"{last}.currentOutputWatermark"])


def test_of_a_join_the_operator_that_has_the_inputs_is_asked() -> None:
    received = "currentInputWatermark"
    assert names_to_ask("j", "join -> (left, right)", listed("join", "left", "right"), JOIN) == [
        received,
        "join.currentOutputWatermark",
    ]
    feeds_another = {**JOIN, "k": ("j", "c")}
    assert names_to_ask("j", "join -> calc", listed("join", "calc"), feeds_another) == [
        received,
        "calc.currentOutputWatermark",
    ]


def test_vertices_that_neither_have_several_inputs_nor_feed_such_are_not_asked() -> None:
    assert not names_to_ask("sink", "sink", listed("sink"), JOIN)
