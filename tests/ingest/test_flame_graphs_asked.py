"""A collect cycle asks for the flame graphs that somebody wants, and for no others."""

from pathlib import Path

import pytest

from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome
from ingest.sources import ClusterSource, WantedFlameGraph
from tests.flame_graphs import graphs
from tests.ingest.flink_rest.serving import Answer, Reply, recorded, told
from tests.ingest.test_shard_collector import serving, shard

JOB, SOURCE = "a" * 32, "b" * 32
WANTED = WantedFlameGraph(JOB, SOURCE, 0)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def cluster_with(graph: Reply, recording: str = "1.20.5/B") -> Answer:
    rest = recorded(recording)
    return lambda path, headers: graph if "/flamegraph" in path else rest(path, headers)


def asked(
    lake: Lake, answer: Answer, *wanted: WantedFlameGraph
) -> tuple[ClusterOutcome, list[str]]:
    with serving(answer) as [server]:
        [outcome] = shard(lake, ClusterSource("c", server.url, flame_graphs=wanted))
        return outcome, [path for path in server.asked if "/flamegraph" in path]


def test_what_nobody_wants_is_not_asked_for(lake: Lake) -> None:
    outcome, paths = asked(lake, cluster_with(told({})))
    assert (outcome.flame_graphs, paths) == ((), [])


def test_the_subtask_that_is_wanted_is_asked_for_and_read(lake: Lake) -> None:
    body = graphs("1.20.5")[1]["body"]
    outcome, paths = asked(lake, cluster_with(told(body)), WANTED)
    [one] = outcome.flame_graphs
    assert paths == [f"/jobs/{JOB}/vertices/{SOURCE}/flamegraph?type=full&subtaskindex=0"]
    assert (one.wanted, one.subtask, one.error) == (WANTED, 0, "")
    assert one.graph is not None
    assert one.graph.frames[0].samples == body["data"]["value"]


def test_no_more_than_three_are_asked_for_in_a_cycle(lake: Lake) -> None:
    several = [WantedFlameGraph(JOB, f"{number:032x}") for number in range(9)]
    _, paths = asked(lake, cluster_with(told({"endTimestamp": -3})), *several)
    assert len(paths) == 3


def test_a_release_without_flame_graphs_is_not_asked(lake: Lake) -> None:
    outcome, paths = asked(lake, cluster_with(told({}), "1.12.5/G"), WANTED)
    assert paths == []
    assert outcome.flame_graphs[0].error == "Flink has flame graphs since 1.13; this is 1.12.5."


@pytest.mark.parametrize("job_id", ["../../jars", "A" * 32, ""])
def test_ids_that_flink_does_not_give_become_no_part_of_an_address(lake: Lake, job_id: str) -> None:
    outcome, paths = asked(lake, cluster_with(told({})), WantedFlameGraph(job_id, SOURCE))
    assert paths == []
    assert outcome.flame_graphs[0].graph is None


@pytest.mark.parametrize(
    "reply",
    [
        told({"errors": ["no such vertex"]}, 404),
        told({"endTimestamp": 5, "data": 7}),
        Reply(b"<html>"),
    ],
)
def test_an_answer_that_is_no_graph_is_the_requests_own_failure(lake: Lake, reply: Reply) -> None:
    outcome, _ = asked(lake, cluster_with(reply), WANTED)
    [one] = outcome.flame_graphs
    assert outcome.reachable
    assert one.graph is None
    assert one.error
