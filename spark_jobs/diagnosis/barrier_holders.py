"""The holder of a checkpoint's barrier: the origin of back-pressure while it ran. At a blocked
vertex a barrier waits until the vertex downstream has processed the buffers in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ingest.messages import brief
from spark_jobs.diagnosis.findings import Limits, NotJudged
from spark_jobs.diagnosis.origins import pressure_of
from spark_jobs.diagnosis.samples import JobWindow, VertexPast
from spark_jobs.diagnosis.window_contents import WINDOW_MS


@dataclass(frozen=True)
class Holder:
    """``held``: ids of the vertices that it blocks; ``path``: names from the farthest of them to
    the holder. ``busy_known``: not before Flink 1.13.
    """

    vertex_id: str
    name: str
    held: tuple[str, ...]
    path: tuple[str, ...]
    at_ms: int
    busy_known: bool

    @property
    def brief(self) -> str:
        return brief(self.name)

    def as_data(self) -> dict[str, Any]:
        return {
            "vertex_id": self.vertex_id,
            "name": self.name,
            "held": list(self.held),
            "path": list(self.path),
            "at_ms": self.at_ms,
        }


def pressure_is_known(window: JobWindow) -> bool:
    return any(vertex.backpressured_ratio for vertex in window.vertex_windows)


def holder_between(window: JobWindow, limits: Limits, from_ms: int, to_ms: int) -> Holder | None:
    if window.window_start_ms <= to_ms and window.at_ms >= from_ms:
        holder = _holder_now(window, limits)
        if holder:
            return holder
    past: dict[int, dict[str, VertexPast]] = {}
    for vertex in window.past:
        if vertex.window_start_ms <= to_ms and vertex.window_start_ms + WINDOW_MS >= from_ms:
            past.setdefault(vertex.window_start_ms, {})[vertex.vertex_id] = vertex
    holders = (
        _holder(window, past[start_ms], min(start_ms + WINDOW_MS, window.at_ms))
        for start_ms in sorted(past, reverse=True)
    )
    return next(filter(None, holders), None)


def _holder_now(window: JobWindow, limits: Limits) -> Holder | None:
    if not pressure_is_known(window):
        return None
    try:
        pressure = pressure_of(
            replace(window, terminal=False) if window.terminal else window, limits
        )
    except NotJudged:
        return None
    held = {
        vertex_id: tuple(sorted(held_vertex.vertex_id for held_vertex in above))
        for vertex_id in pressure.roots
        if (above := pressure.held_by(vertex_id))
    }
    if not held:
        return None
    vertex_id = min(held, key=lambda id: (-len(held[id]), id))
    longest = max(pressure.paths_to(vertex_id), key=lambda path: (len(path), path))
    names = tuple(window.vertex_name(id) for id in longest)
    return Holder(
        vertex_id,
        window.vertex_name(vertex_id),
        held[vertex_id],
        names,
        window.at_ms,
        pressure.roots[vertex_id].measured,
    )


def _holder(window: JobWindow, vertices: Mapping[str, VertexPast], at_ms: int) -> Holder | None:
    blocked = {id for id, vertex in vertices.items() if vertex.backpressured_share}
    if not blocked:
        return None
    upstream: dict[str, list[str]] = {}
    for edge in window.edges:
        upstream.setdefault(edge.target, []).append(edge.source)
    candidates = {
        vertex_id: _held_above(vertex_id, upstream, blocked)
        for vertex_id, vertex in vertices.items()
        if vertex_id not in blocked
        and vertex.busy_share != 0
        and any(above in blocked for above in upstream.get(vertex_id, ()))
    }
    if not candidates:
        return None
    # A vertex known to be busy goes before one of unknown busy time; then the one that holds most.
    vertex_id = min(
        candidates, key=lambda id: (not vertices[id].busy_share, -len(candidates[id]), id)
    )
    held = candidates[vertex_id]
    return Holder(
        vertex_id,
        window.vertex_name(vertex_id),
        tuple(sorted(held)),
        tuple(
            window.vertex_name(id) for id in max(held.values(), key=lambda path: (len(path), path))
        ),
        at_ms,
        vertices[vertex_id].busy_share is not None,
    )


def _held_above(
    origin: str, upstream: Mapping[str, list[str]], blocked: set[str]
) -> dict[str, tuple[str, ...]]:
    paths: dict[str, tuple[str, ...]] = {origin: (origin,)}
    waiting = [origin]
    for below in waiting:
        for above in upstream.get(below, ()):
            if above in blocked and above not in paths:
                paths[above] = (above, *paths[below])
                waiting.append(above)
    return {vertex_id: path for vertex_id, path in paths.items() if vertex_id != origin}
