"""Back-pressured, but not by its own doing: something further downstream holds it.

Listed under that origin; nothing to do here.
"""

from collections.abc import Iterator, Sequence

from ingest.messages import list_text, message
from spark_jobs.diagnosis.findings import Evidence, Finding, NotJudged, Related
from spark_jobs.diagnosis.origins import NO_METRICS, Held, Pressure, pressure_of
from spark_jobs.diagnosis.pool_states import TRANSITIONAL, WORDS, PoolState, is_any_full, pool_state
from spark_jobs.diagnosis.pressure import typical, value
from spark_jobs.diagnosis.pressure_words import brief_names, names, path_data, waiting_evidence
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.subjects import vertex_finding
from spark_jobs.diagnosis.thresholds import Limits
from spark_jobs.diagnosis.topology import Topology

RULE = "pressure.transit"


@rule(
    RULE,
    message("Held by downstream"),
    message(
        "A vertex is back-pressured for more than half of the window, and the origin is known."
    ),
    fed_by="windows/1.20.5-B",
    needs=("vertex_windows",),
    lacking=NO_METRICS,
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    pressure = pressure_of(window, limits)
    orphaned = []
    for held in pressure.held.values():
        paths = pressure.origins_of(held.vertex_id)
        if not paths:
            orphaned.append(held.vertex_id)
        elif len(paths[0]) > 1:
            yield _finding(window, limits, pressure, held, paths)
    if orphaned and not window.terminal:
        raise NotJudged(
            message("what holds {orphaned:name}", orphaned=list_text(brief_names(window, orphaned)))
        )


def _state(window: JobWindow, pressure: Pressure, held: Held) -> PoolState | None:
    """By the usages of the held subtasks; None where one before it is held too, or its output full:
    back-pressure has come through then.
    """
    topology = Topology(window.vertices, window.edges)
    before = topology.upstream(held.vertex_id)
    outputs_before = [
        typical(vertex_window.out_pool_usage)
        for vertex_window in window.vertex_windows
        if vertex_window.vertex_id in before
    ]
    if any(vertex_id in pressure.held for vertex_id in before) or is_any_full(outputs_before):
        return None
    vertex = pressure.vertices[held.vertex_id]
    levels = typical(vertex.input_level(subtask) for subtask in held.subtasks)
    outputs = typical(value(vertex.window.out_pool_usage, subtask) for subtask in held.subtasks)
    return pool_state(levels, outputs, (), is_source=not before)


def _finding(
    window: JobWindow,
    limits: Limits,
    pressure: Pressure,
    held: Held,
    paths: Sequence[tuple[str, ...]],
) -> Finding:
    path = paths[0]
    path_names = brief_names(window, path)
    name, origin = path_names[0], path_names[-1]
    between = (
        message(", by way of {path_names:name}", path_names=list_text(path_names[1:-1]))
        if len(path) > 2
        else ""
    )
    own = pressure.roots.get(held.vertex_id)
    also = message(" Other subtasks of it are an origin themselves.") if own else ""
    state = _state(window, pressure, held)
    still = (
        message(
            " The state is transitional: its own input is not full yet, so those before it are not "
            "affected."
        )
        if state in TRANSITIONAL
        else ""
    )
    return vertex_finding(
        window,
        held.vertex_id,
        RULE,
        "info",
        "high" if pressure.vertices[held.vertex_id].window.samples > 1 else "medium",
        title=message("{name:name} waits for {origin:name}", name=name, origin=origin),
        cause=message(
            "{origin:name} processes records more slowly than they arrive; its full buffers "
            "reach back to {name:name}{between:message}.{also:message}{still:message}",
            origin=origin,
            name=name,
            between=between,
            also=also,
            still=still,
        ),
        next_step=message(
            "Do nothing here: relieve {origin:name}, and this ends by itself.", origin=origin
        ),
        evidence=(
            waiting_evidence(window, limits, pressure, held),
            *(
                [Evidence(message("buffers"), WORDS[state], at_ms=window.at_ms)]
                if state in TRANSITIONAL
                else []
            ),
        ),
        related=tuple(
            Related("vertex", named[-1], message("origin"), named)
            for named in (names(window, path) for path in paths)
        ),
        data={
            "vertex_id": held.vertex_id,
            "vertex_ids": list(path),
            "origin_vertex_id": path[-1],
            "held_subtask_count": len(held.subtasks),
            "path": path_data(window, path),
        },
    )
