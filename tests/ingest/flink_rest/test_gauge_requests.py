"""What a round of figures costs a JobManager: requests to it, by the job graph, counted where they
arrive.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.client import Gate, RestClient
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.limits import Budget, RequestLimits
from ingest.flink_rest.session import RestSession
from ingest.flink_rest.vertex_reader import VertexReader
from tests.ingest.flink_rest.serving import Reply, Server, told

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
JOB = "5" * 32
JOIN = {"a": (), "b": (), "join": ("a", "b"), "sink": ("join",)}
CHAIN = {"a": (), "b": ("a",), "c": ("b",), "sink": ("c",)}

Graph = dict[str, tuple[str, ...]]
"""Name of a vertex → of those that feed it."""


def vertex_ids(graph: Graph) -> dict[str, str]:
    return {name: f"{place + 1:032x}" for place, name in enumerate(graph)}


def job_of(graph: Graph) -> dict[str, Any]:
    ids = vertex_ids(graph)
    nodes = [
        {
            "id": ids[name],
            "inputs": [
                {"num": place, "id": ids[source], "ship_strategy": "HASH"}
                for place, source in enumerate(sources)
            ],
        }
        for name, sources in graph.items()
    ]
    return {
        "jid": JOB,
        "vertices": [{"id": ids[name], "name": name, "parallelism": 2} for name in graph],
        "plan": {"nodes": nodes},
    }


def rounds(
    graph: Graph, count: int, *, lean: bool = False, elsewhere: bool = False, requests: int = 400
) -> list[tuple[int, int]]:
    """Of each round, how many requests listed names and how many asked for figures."""
    ids = vertex_ids(graph)
    names = {vertex_id: name for name, vertex_id in ids.items()}

    def answer(path: str, headers: dict[str, str]) -> Reply:
        name = names[path.split("/")[4]]
        return told(
            [{"id": "currentInputWatermark"}, {"id": f"{name}.currentOutputWatermark"}]
            if "?" not in path
            else []
        )

    async def play() -> list[tuple[int, int]]:
        cursor, found = JobCursor(vertices=dict.fromkeys(ids.values(), 2)), []
        async with Server(answer) as server, RestClient(server.url, gate=Gate(0.001)) as client:
            for _ in range(count):
                before = len(server.asked)
                reading = JobAnswers(
                    JOB,
                    "2.3.0",
                    job=Answer(f"/jobs/{JOB}", AT, job_of(graph)),
                    measured_elsewhere=elsewhere,
                )
                budget = Budget(requests)
                session = RestSession(client, lambda: AT, budget)
                reader = VertexReader(session, RequestLimits(), budget, reading, cursor, lean=lean)
                await reader.read_gauges()
                asked = server.asked[before:]
                found.append(
                    (sum("?" not in path for path in asked), sum("?" in path for path in asked))
                )
        return found

    return asyncio.run(play())


def fed_by(count: int) -> Graph:
    sources: Graph = {f"source{number}": () for number in range(count)}
    return {**sources, "join": tuple(sources)}


def test_a_join_costs_one_request_a_round_for_itself_and_for_each_vertex_that_feeds_it() -> None:
    assert rounds(JOIN, 5) == [(4, 3), (4, 3), (4, 3), (0, 3), (0, 3)]


def test_a_job_without_a_join_costs_nothing_once_its_names_were_listed() -> None:
    assert rounds(CHAIN, 5) == [(4, 0), (4, 0), (4, 0), (0, 0), (0, 0)]


def test_names_are_listed_once_where_requests_are_scarce() -> None:
    assert rounds(JOIN, 3, lean=True) == [(4, 3), (0, 3), (0, 3)]


def test_where_another_source_measures_a_job_only_its_joins_are_asked_about() -> None:
    assert rounds(JOIN, 4, elsewhere=True) == [(3, 3), (3, 3), (3, 3), (0, 3)]
    assert rounds(CHAIN, 4, elsewhere=True) == [(0, 0)] * 4


@pytest.mark.parametrize(("feeders", "asked"), [(1, 0), (2, 3), (8, 9), (9, 0), (60, 0)])
def test_a_union_of_many_sources_is_not_asked_for_each_of_them(feeders: int, asked: int) -> None:
    assert rounds(fed_by(feeders), 1) == [(feeders + 1, asked)]


@pytest.mark.parametrize("requests", [0, 2, 5])
def test_no_round_makes_more_requests_than_its_budget(requests: int) -> None:
    assert [sum(one) for one in rounds(JOIN, 2, requests=requests)] == [requests, requests]
