"""Layout of job graphs."""

import time

from hypothesis import given
from hypothesis import strategies as st

from webapp.charts.job_graph import COMPACT, FULL, MOST_NODES, lay_out

NAMES = [chr(97 + n) for n in range(12)]


def columns(layout):
    return {node.key: node.x for node in layout.nodes}


def test_a_vertex_stands_right_of_all_its_upstreams():
    x = columns(lay_out("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]))
    assert x["a"] < x["b"] < x["c"]
    assert x["d"] < x["c"]


def test_two_parallel_chains_do_not_cross():
    layout = lay_out("abcdef", [("a", "c"), ("b", "d"), ("c", "e"), ("d", "f")])
    y = {node.key: node.y for node in layout.nodes}
    assert (y["a"] < y["b"]) == (y["c"] < y["d"]) == (y["e"] < y["f"])


def test_nothing_is_an_empty_drawing():
    assert lay_out([], []).width == 0


def test_more_vertices_than_fit_are_counted():
    assert lay_out([str(n) for n in range(MOST_NODES + 7)], []).left_out == 7


def test_a_source_that_joins_late_stands_right_before_its_reader():
    x = columns(lay_out("abcd", [("a", "b"), ("b", "c"), ("d", "c")]))
    assert x["d"] == x["b"]


def test_an_edge_over_several_layers_runs_past_the_vertices_between():
    layout = lay_out("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    node = {n.key: n for n in layout.nodes}["b"]
    path = next(edge.path for edge in layout.edges if (edge.source, edge.target) == ("a", "c"))
    x, y = (int(number) for number in path.split("L")[1].split("C")[0].split())
    assert node.x <= x <= node.x + FULL.node_width
    assert not node.y <= y <= node.y + FULL.node_height


def test_a_dense_graph_of_two_hundred_is_laid_out_in_no_time():
    keys = [str(n) for n in range(200)]
    started = time.perf_counter()
    layout = lay_out(
        keys, [(a, b) for a in keys for b in keys if int(a) < int(b) <= int(a) + 20], COMPACT
    )
    assert time.perf_counter() - started < 2
    assert len(layout.nodes) == 200


edges = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from([*NAMES, "unknown"])), max_size=40
)


@given(edges)
def test_any_graph_even_with_cycles_is_drawn_without_overlaps(links):
    layout = lay_out(NAMES, links)
    boxes = [(node.x, node.y) for node in layout.nodes]
    assert len(boxes) == len(NAMES)
    for number, (x, y) in enumerate(boxes):
        assert (
            0 <= x <= layout.width - FULL.node_width and 0 <= y <= layout.height - FULL.node_height
        )
        assert not any(
            abs(x - other_x) < FULL.node_width and abs(y - other_y) < FULL.node_height
            for other_x, other_y in boxes[:number]
        )


@given(edges)
def test_every_drawn_edge_goes_right(links):
    layout = lay_out(NAMES, links)
    x = columns(layout)
    assert all(x[edge.source] < x[edge.target] for edge in layout.edges)
