"""The job graph as rules walk it."""

import pytest

from spark_jobs.diagnosis.samples import Edge
from spark_jobs.diagnosis.topology import Topology, consumers


def topology(*edges: str) -> Topology:
    return Topology(Edge(*edge.split(">")) for edge in edges)


DIAMOND = topology("a>b", "a>c", "b>d", "c>d", "d>e")


def test_neighbours_come_each_once_even_over_parallel_edges():
    twice = topology("a>b", "a>b", "a>c")
    assert (twice.downstream("a"), twice.upstream("b")) == (("b", "c"), ("a",))


def test_only_what_nothing_feeds_is_a_source():
    assert [name for name in "abcde" if DIAMOND.is_source(name)] == ["a"]


def test_everything_downstream_is_reached_through_joins():
    assert DIAMOND.all_downstream("b") == {"d", "e"}


def test_a_cycle_ends_and_contains_itself():
    loop = topology("a>b", "b>c", "c>b", "c>d")
    assert loop.all_downstream("b") == {"b", "c", "d"}


@pytest.mark.parametrize(
    ("producers", "consumer_count"),
    [(4, 4), (8, 4), (7, 3), (4, 8), (3, 7), (1, 5), (5, 1), (5000, 3), (3, 5000)],
)
def test_a_pointwise_edge_gives_every_consumer_a_producer_and_no_producer_to_all(
    producers, consumer_count
):
    edge = Edge("a", "b", "RESCALE")
    reached = [
        list(consumers(edge, producer, producers, consumer_count)) for producer in range(producers)
    ]
    assert sorted({index for some in reached for index in some}) == list(range(consumer_count))
    assert max(map(len, reached)) <= -(-consumer_count // producers)


def test_an_all_to_all_edge_reaches_all_and_a_global_one_the_first():
    assert consumers(Edge("a", "b", "HASH"), 1, 2, 5) == range(5)
    assert consumers(Edge("a", "b", "GLOBAL"), 1, 2, 5) == range(1)
    assert consumers(Edge("a", "b"), 1, 2, 5) == range(5)
