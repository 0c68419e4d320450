"""Reads figures of operators and of RocksDB: of vertices that have any, one or a few requests a sample, however many subtasks there are."""

from urllib.parse import quote

from ingest.errors import Skipped
from ingest.flink_rest.answers import JobAnswers
from ingest.flink_rest.client import MAX_PATH_BYTES
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.limits import Budget
from ingest.flink_rest.payloads.gauges import wanted
from ingest.flink_rest.session import RestSession

LISTED = "listed"
TIMES_LISTED, TIMES_LISTED_LEAN = 3, 1
"""After each change of the job: what operators register when they open comes some seconds late."""


async def read_gauges(session: RestSession, budget: Budget, reading: JobAnswers, cursor: JobCursor, prefix_bytes: int, lean: bool) -> None:
    """``prefix_bytes``: of a reverse proxy's path. ``lean``: names are listed once."""
    paths = {vertex_id: f"/jobs/{reading.job_id}/vertices/{vertex_id}/subtasks/metrics" for vertex_id in cursor.vertices}
    if cursor.reported.count(LISTED) < (TIMES_LISTED_LEAN if lean else TIMES_LISTED):
        cursor.reported.append(LISTED)
        for vertex_id, path in paths.items():
            answer = await session.get(path, may_be_gone=True) if budget.take() else None
            if answer is not None:
                try:
                    cursor.gauges[vertex_id] = wanted(answer.body)
                except Skipped as error:
                    session.skip(path, "bad_payload", str(error))
    cursor.gauges = {vertex_id: names for vertex_id, names in cursor.gauges.items() if names and vertex_id in paths}
    for vertex_id, names in cursor.gauges.items():
        for path in _asked(paths[vertex_id], names, prefix_bytes):
            answer = await session.get(path, may_be_gone=True) if budget.take() else None
            if answer is not None:
                reading.gauges.setdefault(vertex_id, []).append(answer)


def _asked(path: str, names: list[str], prefix_bytes: int) -> list[str]:
    """Paths short enough for Flink that ask for all names."""
    head = f"{path}?agg=min,max,sum&get="
    paths, current = [], head
    for name in map(quote, names):
        if len(current) + 1 + len(name) > MAX_PATH_BYTES - prefix_bytes and current != head:
            paths.append(current)
            current = head
        current += name if current == head else f",{name}"
    return [*paths, current] if names else []
