"""The origin of back-pressure that holds a checkpoint's barrier. At a blocked vertex a barrier
waits until the vertex downstream has processed the buffers in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingest.messages import brief, message
from spark_jobs.diagnosis.findings import Evidence, Limits
from spark_jobs.diagnosis.origins import pressure_of
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow, VertexPast
from spark_jobs.diagnosis.topology import Topology
from spark_jobs.diagnosis.window_contents import WINDOW_MS


@dataclass(frozen=True)
class Holder:
    """``held``: ids of the vertices that it blocks; ``path``: names from the farthest of these to
    the holder. ``is_busy_known``: false before Flink 1.13.
    """

    vertex_id: str
    name: str
    held: tuple[str, ...]
    path: tuple[str, ...]
    at_ms: int
    is_busy_known: bool

    @property
    def brief(self) -> str:
        return brief(self.name)

    @property
    def evidence(self) -> Evidence:
        return Evidence(message("barrier held by"), self.name, note=" → ".join(self.path))

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


def newest_holder(
    window: JobWindow, limits: Limits, checkpoints: Sequence[CheckpointSample]
) -> Holder | None:
    """The holder of the newest checkpoint that has one. ``checkpoints``: oldest first."""
    holders = (_holder_of(window, limits, checkpoint) for checkpoint in reversed(checkpoints))
    return next(filter(None, holders), None)


def _holder_of(window: JobWindow, limits: Limits, checkpoint: CheckpointSample) -> Holder | None:
    from_ms, to_ms = checkpoint.trigger_time_ms, checkpoint.ended_ms
    if window.window_start_ms <= to_ms and window.at_ms >= from_ms:
        holder = _present_holder(window, limits)
        if holder:
            return holder
    windows: dict[int, dict[str, VertexPast]] = {}
    for vertex in window.past:
        if vertex.window_start_ms <= to_ms and vertex.window_start_ms + WINDOW_MS >= from_ms:
            windows.setdefault(vertex.window_start_ms, {})[vertex.vertex_id] = vertex
    holders = (
        _past_holder(window, windows[start_ms], min(start_ms + WINDOW_MS, window.at_ms))
        for start_ms in sorted(windows, reverse=True)
    )
    return next(filter(None, holders), None)


def _present_holder(window: JobWindow, limits: Limits) -> Holder | None:
    if not pressure_is_known(window):
        return None
    running = replace(window, terminal=False) if window.terminal else window
    pressure = pressure_of(running, limits)
    candidates = {
        vertex_id: {held.vertex_id: path for held, path in ways}
        for vertex_id in pressure.roots
        if (ways := pressure.ways_to(vertex_id))
    }
    if not candidates:
        return None
    vertex_id = min(candidates, key=lambda id: (-len(candidates[id]), id))
    is_measured = pressure.roots[vertex_id].measured
    return _holder(window, vertex_id, candidates[vertex_id], window.at_ms, is_measured)


def _past_holder(
    window: JobWindow, vertices: Mapping[str, VertexPast], at_ms: int
) -> Holder | None:
    blocked = {id for id, vertex in vertices.items() if vertex.backpressured_share}
    if not blocked:
        return None
    topology = Topology(window.edges)
    candidates = {
        vertex_id: _paths_to(vertex_id, topology, blocked)
        for vertex_id, vertex in vertices.items()
        if vertex_id not in blocked
        and vertex.busy_share != 0
        and not blocked.isdisjoint(topology.upstream(vertex_id))
    }
    if not candidates:
        return None
    # A vertex that is known to be busy, then one that blocks most vertices.
    vertex_id = min(
        candidates, key=lambda id: (not vertices[id].busy_share, -len(candidates[id]), id)
    )
    is_measured = vertices[vertex_id].busy_share is not None
    return _holder(window, vertex_id, candidates[vertex_id], at_ms, is_measured)


def _holder(
    window: JobWindow,
    vertex_id: str,
    paths: Mapping[str, tuple[str, ...]],
    at_ms: int,
    is_busy_known: bool,
) -> Holder:
    """``paths``: blocked vertex → the ids from that vertex to the holder."""
    longest = max(paths.values(), key=lambda path: (len(path), path))
    names = tuple(map(window.vertex_name, longest))
    return Holder(vertex_id, names[-1], tuple(sorted(paths)), names, at_ms, is_busy_known)


def _paths_to(origin: str, topology: Topology, blocked: set[str]) -> dict[str, tuple[str, ...]]:
    paths: dict[str, tuple[str, ...]] = {origin: (origin,)}
    waiting = [origin]
    for target in waiting:  # grows during the loop
        for source in topology.upstream(target):
            if source in blocked and source not in paths:
                paths[source] = (source, *paths[target])
                waiting.append(source)
    return {vertex_id: path for vertex_id, path in paths.items() if vertex_id != origin}
