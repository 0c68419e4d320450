"""Requests flame graphs that users want to see: a few in a cycle, through the JobManager's gate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ingest.errors import Skipped
from ingest.flink_ids import is_flink_id
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.flink_rest.payloads.flame_graph import FlameGraph, flame_graph
from ingest.flink_rest.versions import release
from ingest.messages import message
from ingest.sources import WantedFlameGraph

GRAPHS_PER_CYCLE = 3
"""Flink samples each vertex for five seconds, and some answers are megabytes."""
SINCE, OF_SUBTASKS_SINCE = (1, 13), (1, 17)


@dataclass(frozen=True, slots=True)
class FlameGraphAnswer:
    """One request and its answer; where ``graph`` is None, ``error`` says in a sentence why.

    ``subtask``: None for all of the vertex.
    """

    wanted: WantedFlameGraph
    at: datetime
    subtask: int | None = None
    graph: FlameGraph | None = None
    error: str = ""


async def request(
    client: RestClient,
    wanted: Sequence[WantedFlameGraph],
    version: str | None,
    at: Callable[[], datetime],
) -> tuple[FlameGraphAnswer, ...]:
    """Those that come first, one after the other."""
    return tuple(
        [await _request_one(client, graph, version, at) for graph in wanted[:GRAPHS_PER_CYCLE]]
    )


async def _request_one(
    client: RestClient, wanted: WantedFlameGraph, version: str | None, at: Callable[[], datetime]
) -> FlameGraphAnswer:
    known = release(version)
    if known is not None and known < SINCE:
        return FlameGraphAnswer(
            wanted,
            at(),
            error=message(
                "Flink has flame graphs since 1.13; this is {version:name}.", version=str(version)
            ),
        )
    if not (is_flink_id(wanted.job_id) and is_flink_id(wanted.vertex_id)):
        return FlameGraphAnswer(wanted, at(), error=message("Its ids are not valid Flink ids."))
    # Of an unknown release the whole vertex: an older one ignores the index, and its answer would
    # be taken for one subtask's.
    subtask = wanted.subtask if known is not None and known >= OF_SUBTASKS_SINCE else None
    path = f"/jobs/{wanted.job_id}/vertices/{wanted.vertex_id}/flamegraph?type={wanted.kind}"
    if subtask is not None:
        path += f"&subtaskindex={subtask}"
    try:
        return FlameGraphAnswer(wanted, at(), subtask, flame_graph(await client.get(path)))
    except (BadAnswer, Unanswered, Skipped) as error:
        return FlameGraphAnswer(wanted, at(), subtask, error=str(error))
