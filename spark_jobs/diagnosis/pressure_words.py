from collections.abc import Iterable, Sequence
from typing import Any

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Limits, Related
from spark_jobs.diagnosis.origins import HeldVertex, Pressure, Way
from spark_jobs.diagnosis.pressure_walk import BACKPRESSURED
from spark_jobs.diagnosis.samples import JobWindow

MOST_SUBTASKS = 50
MOST_NAMED = 4
NEARLY_ALWAYS = 0.9
"""From this share of time on, work counts as without pause."""
MOST_HELD = 50


def names(window: JobWindow, vertex_ids: Iterable[str]) -> tuple[str, ...]:
    name_by_id = {vertex.vertex_id: vertex.name for vertex in window.vertices}
    return tuple(name_by_id.get(vertex_id, vertex_id) for vertex_id in vertex_ids)


def subtasks_text(subtasks: Sequence[int], parallelism: int) -> str:
    """``all 4 subtasks``, ``subtask 3``, ``subtasks 0, 2 and 9 more``."""
    if len(subtasks) == parallelism:
        return (
            message("the only subtask")
            if parallelism == 1
            else message(
                "all {parallelism:message}",
                parallelism=plural(parallelism, "{count:count} subtask", "{count:count} subtasks"),
            )
        )
    if len(subtasks) == 1:
        return message("subtask {subtasks:number}", subtasks=subtasks[0])
    return message(
        "subtasks {value:name}", value=list_text((str(index) for index in subtasks), MOST_NAMED)
    )


def related_vertices(window: JobWindow, ways: Sequence[Way]) -> tuple[Related, ...]:
    paths = ((held, names(window, path)) for held, path in ways[:MOST_HELD])
    return tuple(
        Related(
            "vertex",
            path[0],
            message("back-pressured {ratio:share} of the time", ratio=held.ratio),
            path,
        )
        for held, path in paths
    )


def waiting_evidence(
    window: JobWindow, limits: Limits, pressure: Pressure, held: HeldVertex
) -> Evidence:
    name = window.brief_name(held.vertex_id)
    subtasks = subtasks_text(held.subtasks, pressure.vertices[held.vertex_id].parallelism)
    return limits.evidence(
        message("{name:name} back-pressured", name=name),
        held.ratio,
        BACKPRESSURED,
        message("{on:text}, median", on=subtasks),
    )


def hot_data(pressure: Pressure, vertex_id: str, hot: Sequence[int]) -> dict[str, Any]:
    vertex = pressure.vertices[vertex_id]
    return {
        "vertex_id": vertex_id,
        "hot_subtasks": list(hot[:MOST_SUBTASKS]),
        "records_in_share": vertex.records_in_share(hot),
        "hosts": list(vertex.hosts(hot)[:MOST_SUBTASKS]),
    }
