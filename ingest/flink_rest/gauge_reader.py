"""Reads figures of operators and of RocksDB: of vertices that have any, one or a few requests a
sample, however many subtasks there are.
"""

from collections.abc import Mapping
from urllib.parse import quote

from ingest.errors import Skipped
from ingest.flink_rest.answers import JobAnswers
from ingest.flink_rest.client import MAX_PATH_BYTES
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.job_row import plan_answer
from ingest.flink_rest.limits import Budget
from ingest.flink_rest.metric_names import source_column
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import plan
from ingest.flink_rest.payloads.event_time import feeders, is_of_event_time, names_to_ask
from ingest.flink_rest.payloads.gauges import listed, wanted
from ingest.flink_rest.session import RestSession

LISTED = "listed"
MOST_OF_SOURCES = 12
TIMES_LISTED, TIMES_LISTED_LEAN = 3, 1
"""After each change of the job: what operators register when they open comes some seconds late."""


async def read_gauges(
    session: RestSession,
    budget: Budget,
    reading: JobAnswers,
    cursor: JobCursor,
    prefix_bytes: int,
    lean: bool,
) -> None:
    """``prefix_bytes``: of a reverse proxy's path. ``lean``: names are listed once. Where another
    source measures the vertices, event time between them is asked for alone.
    """
    paths = {
        vertex_id: f"/jobs/{reading.job_id}/vertices/{vertex_id}/subtasks/metrics"
        for vertex_id in cursor.vertices
    }
    if cursor.reported.count(LISTED) < (TIMES_LISTED_LEAN if lean else TIMES_LISTED):
        cursor.reported.append(LISTED)
        names, fed = _graph(reading)
        of_event_time = {*fed, *(source for sources in fed.values() for source in sources)}
        for vertex_id, path in paths.items():
            if reading.measured_elsewhere and vertex_id not in of_event_time:
                continue
            answer = await session.get(path, may_be_gone=True) if budget.take() else None
            if answer is not None:
                try:
                    metric_names = listed(answer.body)
                except Skipped as error:
                    session.skip(path, "bad_payload", str(error))
                    continue
                before = [
                    name for name in cursor.gauges.get(vertex_id, ()) if is_of_event_time(name)
                ]
                asked = (
                    names_to_ask(vertex_id, names.get(vertex_id, ""), metric_names, fed)
                    if names
                    else before
                )
                cursor.gauges[vertex_id] = [
                    *asked,
                    *(() if reading.measured_elsewhere else _wanted(metric_names)),
                ]
    cursor.gauges = {
        vertex_id: names
        for vertex_id, names in cursor.gauges.items()
        if names and vertex_id in paths
    }
    for vertex_id, asked in cursor.gauges.items():
        of_vertex = [name for name in asked if not source_column(name)]
        for path in _asked(paths[vertex_id], of_vertex, prefix_bytes):
            answer = await session.get(path, may_be_gone=True) if budget.take() else None
            if answer is not None:
                reading.gauges.setdefault(vertex_id, []).append(answer)


def _wanted(metric_names: list[str]) -> list[str]:
    of_source = [name for name in metric_names if source_column(name)]
    return [*wanted(metric_names), *of_source[:MOST_OF_SOURCES]]


def _graph(reading: JobAnswers) -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    results = ParseResults()
    vertices = results.parse(plan.vertices, reading.job) or ()
    return {vertex.vertex_id: vertex.name for vertex in vertices}, feeders(
        results.parse(plan.edges, plan_answer(reading)) or ()
    )


def _asked(path: str, names: list[str], prefix_bytes: int) -> list[str]:
    head = f"{path}?agg=min,max,sum&get="
    paths, current = [], head
    for name in map(quote, names):
        if len(current) + 1 + len(name) > MAX_PATH_BYTES - prefix_bytes and current != head:
            paths.append(current)
            current = head
        current += name if current == head else f",{name}"
    return [*paths, current] if names else []
