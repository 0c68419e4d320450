"""The life of a request for a flame graph: wanted once, asked until it is sampled, kept until there
is a newer one.
"""

from datetime import UTC, datetime, timedelta

import pytest

from ingest.flink_rest.flame_graphs import FlameGraphAnswer
from ingest.flink_rest.payloads.flame_graph import FlameGraph as Told
from ingest.flink_rest.payloads.flame_graph import FlameGraphState, flame_graph
from ingest.sources import WantedFlameGraph
from tests.flame_graphs import graphs, own_methods
from tests.webapp.builders import cluster, finding, job
from webapp.findings.sampled_vertices import want_flame_graphs
from webapp.profiles.flame_graph import flame_graph_of
from webapp.profiles.flame_graph_requests import MOST_FRAMES, keep, want, wanted_of
from webapp.profiles.models import FlameGraph

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
JOB, SOURCE = "a" * 32, "b" * 32
KEY = ("c", JOB, SOURCE)


def after(**span):
    return NOW + timedelta(**span)


def answered(at, graph=None, error="", subtask=None):
    keep("c", [FlameGraphAnswer(WantedFlameGraph(JOB, SOURCE), at, subtask, graph, error)])


def due(at):
    return wanted_of(["c"], at).get("c", ())


def sampled(at=0):
    return flame_graph(graphs("1.20.5")[at]["body"])


def words(at):
    return flame_graph_of(*KEY, at).sentence


def test_what_is_wanted_is_due_at_once_and_only_once():
    assert want(*KEY, NOW, "olga", subtask=2)
    assert not want(*KEY, after(seconds=1), "vera")
    assert due(NOW) == (WantedFlameGraph(JOB, SOURCE, 2),)
    assert wanted_of(["other"], NOW) == {}
    assert words(NOW) == "A flame graph was requested; the next collect cycle asks Flink for it."


def test_a_graph_that_is_being_sampled_is_asked_for_again_soon_and_not_for_ever():
    want(*KEY, NOW)
    at = NOW
    for _ in range(11):
        answered(at, Told(FlameGraphState.SAMPLING))
        assert due(at) == ()
        assert words(at) == "Flink is sampling it; it is asked again in a few seconds."
        at += timedelta(seconds=10)
        assert due(at)
    answered(at, Told(FlameGraphState.SAMPLING))
    assert due(at + timedelta(minutes=1)) == ()
    assert words(at) == "Flink gave none: Flink was asked 12 times and had not sampled it yet."


def test_what_was_sampled_is_kept_with_its_sentence_and_asked_for_again_after_minutes_at_the_earliest():
    want(*KEY, NOW)
    answered(NOW, sampled(), subtask=0)
    row = FlameGraph.objects.get()
    body = graphs("1.20.5")[0]["body"]
    [(method, samples)] = own_methods(body).most_common(1)
    assert (row.method, row.method_samples, row.samples, row.subtask) == (
        method,
        samples,
        body["data"]["value"],
        0,
    )
    assert round(row.sampled_at.timestamp() * 1000) == body["endTimestamp"]
    assert (
        words(NOW)
        == row.sentence
        == f"100 % of 100 samples are in {method}, calling java.lang.Thread.sleep."
    )
    assert (want(*KEY, after(minutes=4)), want(*KEY, after(minutes=6))) == (False, True)


def test_the_last_graph_stays_where_a_newer_one_is_not_to_be_had():
    want(*KEY, NOW)
    answered(NOW, sampled())
    want(*KEY, after(minutes=6))
    answered(after(minutes=6), Told(FlameGraphState.OFF))
    shown = flame_graph_of(*KEY, after(minutes=6))
    assert shown.picture.boxes
    assert "not switched on: set rest.flamegraph.enabled: true" in shown.sentence
    assert "sampled before: 100 %" in shown.sentence


def test_where_flame_graphs_are_switched_off_it_is_said_how_to_switch_them_on():
    want(*KEY, NOW)
    answered(NOW, Told(FlameGraphState.OFF))
    shown = flame_graph_of(*KEY, NOW)
    assert shown.sentence.startswith(
        "Flame graphs are not switched on: set rest.flamegraph.enabled: true in the configuration "
        "of Flink"
    )
    assert (shown.picture, shown.is_waited_for, shown.may_ask) == (None, False, False)
    assert due(after(minutes=1)) == ()


def test_a_refused_request_is_tried_three_times_and_says_why():
    want(*KEY, NOW)
    for number in range(3):
        assert due(after(minutes=number))
        answered(after(minutes=number), error="data.value: expected a whole number, got a text")
    assert due(after(minutes=10)) == ()
    assert (
        words(after(minutes=3))
        == "Flink gave none: data.value: expected a whole number, got a text"
    )


def test_nobody_waits_for_ever_for_a_cluster_that_is_not_collected():
    want(*KEY, NOW)
    assert due(after(hours=2)) == ()
    assert words(after(hours=2)) == "It was requested, but the cluster could not be asked since."
    assert FlameGraph.objects.get().ask_at is not None


def test_it_can_be_wanted_again_when_the_cluster_could_not_be_asked():
    want(*KEY, NOW)
    assert want(*KEY, after(hours=2))
    assert due(after(hours=2))


def test_a_large_graph_is_kept_without_its_smallest_frames_and_no_frame_without_those_above_it():
    root = {
        "name": "root",
        "value": 30_000,
        "children": [
            {
                "name": f"a.B.m{n}:1",
                "value": 10,
                "children": [{"name": f"a.C.m{n}:1", "value": 5, "children": []}],
            }
            for n in range(3_000)
        ],
    }
    want(*KEY, NOW)
    answered(NOW, flame_graph({"endTimestamp": 1, "data": root}))
    row = FlameGraph.objects.get()
    assert (len(row.frames), row.frames_left_out) == (MOST_FRAMES, 6_001 - MOST_FRAMES)
    assert all(
        depth <= above + 1
        for (above, *_), (depth, *_) in zip(row.frames, row.frames[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("state", "ago_min", "count"), [("open", 1, 1), ("closed", 1, 0), ("open", 30, 0)]
)
def test_an_open_finding_of_a_late_source_wants_its_flame_graph(state, ago_min, count):
    cluster("c", at=NOW)
    of = job("c", at=NOW)
    data = {
        "source": {"vertex_id": SOURCE, "name": "Source: clicks", "subtask": 2, "checkpoint_id": 7}
    }
    finding(of, "checkpoint.start_delay", NOW - timedelta(minutes=ago_min), state=state, data=data)
    finding(of, "pressure.outbound", NOW, subject_id="x", data=data)
    finding(of, "checkpoint.start_delay", NOW, subject_id="y", data={"source": None})
    assert want_flame_graphs(["c"], NOW) == count
    assert [graph.subtask for graph in due(NOW)] == [2] * count
    assert want_flame_graphs(["c"], NOW) == 0


def test_a_finding_of_a_busy_vertex_wants_the_flame_graph_of_its_first_busy_subtask():
    cluster("c", at=NOW)
    finding(
        job("c", at=NOW), "pressure.root", NOW, data={"vertex_id": SOURCE, "hot_subtasks": [3, 5]}
    )
    assert want_flame_graphs(["c"], NOW) == 1
    assert [(graph.vertex_id, graph.subtask) for graph in due(NOW)] == [(SOURCE, 3)]
