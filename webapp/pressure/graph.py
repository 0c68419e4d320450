"""The job graph as drawn: layout, and for each vertex its name, pools and what its subtasks do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.charts.job_graph import Edge, Layout, Node, lay_out
from webapp.pressure.models import PressureWindow

BAR_PX = 84
FULL_MS_PER_S = 1000
_NAME_LETTERS = 23
_MOSTLY = 0.5


@dataclass(frozen=True)
class Pool:
    """One bar. ``ratio`` is ``None`` where the vertex has no such pool or nobody measured."""

    title: str
    ratio: float | None
    level: str
    width: float


@dataclass(frozen=True)
class DrawnVertex:
    node: Node
    name: str
    full_name: str
    line: str
    level: str
    pools: tuple[Pool, Pool]
    window: PressureWindow | None


@dataclass(frozen=True)
class DrawnEdge:
    edge: Edge
    level: str
    title: str


@dataclass(frozen=True)
class DrawnGraph:
    layout: Layout
    vertices: tuple[DrawnVertex, ...]
    edges: tuple[DrawnEdge, ...]


def drawn(graph: Mapping[str, Any] | None, windows: Mapping[str, PressureWindow]) -> DrawnGraph | None:
    """``graph`` as Spark serves it: ``{vertices, edges}``; ``None`` where the plan is unknown."""
    vertices = {str(v.get("vertex_id")): v for v in (graph or {}).get("vertices") or () if v.get("vertex_id")}
    if not vertices:
        return None
    links = {(str(e.get("source")), str(e.get("target"))): e for e in (graph or {}).get("edges") or ()}
    layout = lay_out(list(vertices), links)
    boxes = tuple(_vertex(node, vertices[node.key], windows.get(node.key)) for node in layout.nodes)
    level_of = {box.node.key: box.pools[1].level for box in boxes}
    edges = tuple(
        DrawnEdge(edge, level_of[edge.source], str(links[edge.source, edge.target].get("ship_strategy") or "")) for edge in layout.edges
    )
    return DrawnGraph(layout, boxes, edges)


def usage_level(ratio: float | None) -> str:
    """Which colour of the ramp: u0 … u4, "line" for unknown."""
    if ratio is None:
        return "line"
    return next((f"u{step}" for step, below in enumerate((0.125, 0.375, 0.65, 0.9)) if ratio < below), "u4")


def _vertex(node: Node, vertex: Mapping[str, Any], window: PressureWindow | None) -> DrawnVertex:
    name = str(vertex.get("name") or node.key)
    parallelism = vertex.get("parallelism")
    count = f"{parallelism} subtask{'' if parallelism == 1 else 's'}" if parallelism else "subtasks unknown"
    in_pool = window.in_pool_p50 if window else None
    out_pool = window.out_pool_p50 if window else None
    known = [ratio for ratio in (in_pool, out_pool) if ratio is not None]
    return DrawnVertex(
        node=node,
        name=name if len(name) <= _NAME_LETTERS else name[: _NAME_LETTERS - 1] + "…",
        full_name=name,
        line=f"{count} · {doing(window)}",
        level=usage_level(max(known, default=None)),
        pools=(_pool("in", in_pool), _pool("out", out_pool)),
        window=window,
    )


def doing(window: PressureWindow | None) -> str:
    """What more than half of the time of the median subtask goes into; a fact, not yet a verdict."""
    if window is None:
        return "not measured"
    if (window.backpressured_ms_per_s_p50 or 0) > _MOSTLY * FULL_MS_PER_S or (window.backpressured_share or 0) > _MOSTLY:
        return "held back"
    if (window.busy_ms_per_s_p50 or 0) > _MOSTLY * FULL_MS_PER_S:
        return "busy"
    return "free" if window.busy_ms_per_s_p50 is not None or window.backpressured_share is not None else "time unknown"


def _pool(title: str, ratio: float | None) -> Pool:
    return Pool(title, ratio, usage_level(ratio), round(min(max(ratio or 0.0, 0.0), 1.0) * BAR_PX, 1))
