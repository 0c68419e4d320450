"""The job graph as drawn: layout, and each vertex's name, buffer pools and activity."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from webapp.charts.job_graph import COMPACT, FULL, Edge, Geometry, Layout, Node, lay_out
from webapp.findings.job_findings import ORIGIN_RULES
from webapp.findings.presentation import PresentedFinding
from webapp.fleet.models import JobCurrent
from webapp.lib.messages.rendering import localised
from webapp.lib.quantities import usage_text
from webapp.pressure.models import PressureWindow


@dataclass(frozen=True)
class Blame:
    """``origins``: findings by the vertex id of an origin of pressure. ``holders``: names of
    origins by the vertex id that they hold back. ``path``: edges between them.
    """

    origins: Mapping[str, PresentedFinding]
    holders: Mapping[str, str]
    path: set[tuple[str, str]]


def blame(job: JobCurrent, findings: Iterable[PresentedFinding]) -> Blame:
    """Follows the paths of findings from their origin: they have names, which may repeat."""
    names = job.vertex_names
    upstream: dict[str, list[str]] = defaultdict(list)
    for edge in job.edges:
        upstream[str(edge.get("target"))].append(str(edge.get("source")))
    origins: dict[str, PresentedFinding] = {}
    holders: dict[str, str] = {}
    path: set[tuple[str, str]] = set()
    for finding in findings:
        if finding.finding.rule not in ORIGIN_RULES:
            continue
        origin = _vertex_of(finding, names)
        if origin is None:
            continue
        origins.setdefault(origin, finding)
        for relation in finding.relations:
            edges = _walk(relation.path, origin, names, upstream)
            path.update(edges)
            holders.update({source: names[origin] for source, _target in edges})
    return Blame(origins, {key: name for key, name in holders.items() if key not in origins}, path)


def _vertex_of(finding: PresentedFinding, names: Mapping[str, str]) -> str | None:
    data = finding.finding.data if isinstance(finding.finding.data, Mapping) else {}
    for vertex in (data.get("vertex_id"), finding.finding.subject_id):
        if vertex in names:
            return str(vertex)
    return next((key for key, name in names.items() if name == finding.finding.subject), None)


def _walk(
    path: tuple[str, ...], origin: str, names: Mapping[str, str], upstream: Mapping[str, list[str]]
) -> list[tuple[str, str]]:
    """Edges along ``path``, which ends at the origin, if they are in the plan."""
    edges, vertex_id = [], origin
    for name in reversed(path[:-1]):
        source = next((key for key in upstream.get(vertex_id, ()) if names.get(key) == name), None)
        if source is None:
            break
        edges.append((source, vertex_id))
        vertex_id = source
    return edges


BAR_PX = 84
FULL_MS_PER_S = 1000
MOST_IN_FULL = 40
"""More vertices are drawn small: a name and an activity."""
_NAME_LETTERS = {FULL: 23, COMPACT: 18}
_MOSTLY = 0.5


@dataclass(frozen=True)
class Pool:
    """``ratio``: None if the vertex has no such pool or it was not measured."""

    title: str
    ratio: float | None
    level: str
    width: float


@dataclass(frozen=True)
class DrawnVertex:
    """``role``: "origin", "held" or empty. ``url`` of the origin's finding, or empty."""

    node: Node
    name: str
    line: str
    level: str
    pools: tuple[Pool, Pool]
    role: str = ""
    title: str = ""
    url: str = ""


@dataclass(frozen=True)
class DrawnEdge:
    """``on_the_way``: the edge is between an origin and the vertices that it holds back."""

    edge: Edge
    level: str
    title: str
    on_the_way: bool = False


@dataclass(frozen=True)
class DrawnGraph:
    layout: Layout
    vertices: tuple[DrawnVertex, ...]
    edges: tuple[DrawnEdge, ...]
    geometry: Geometry

    @property
    def is_compact(self) -> bool:
        return self.geometry == COMPACT


def draw_graph(
    job: JobCurrent, windows: Mapping[str, PressureWindow], blame: Blame
) -> DrawnGraph | None:
    """None if the plan is unknown."""
    vertices = job.vertices
    if not vertices:
        return None
    links = {(str(edge.get("source")), str(edge.get("target"))): edge for edge in job.edges}
    geometry = COMPACT if len(vertices) > MOST_IN_FULL else FULL
    layout = lay_out(list(vertices), links, geometry)
    boxes = tuple(
        _vertex(node, vertices[node.key], windows.get(node.key), blame, geometry)
        for node in layout.nodes
    )
    level_of = {box.node.key: box.pools[1].level for box in boxes}
    edges = tuple(
        DrawnEdge(
            edge,
            level_of[edge.source],
            str(links[edge.source, edge.target].get("ship_strategy") or ""),
            (edge.source, edge.target) in blame.path,
        )
        for edge in layout.edges
    )
    return DrawnGraph(
        layout, boxes, tuple(sorted(edges, key=lambda edge: edge.on_the_way)), geometry
    )


def usage_level(ratio: float | None) -> str:
    """The CSS colour of a pool: u0 … u4, "line" for unknown."""
    if ratio is None:
        return "line"
    return next(
        (f"u{step}" for step, below in enumerate((0.125, 0.375, 0.65, 0.9)) if ratio < below), "u4"
    )


def _vertex(
    node: Node,
    vertex: Mapping[str, Any],
    window: PressureWindow | None,
    blame: Blame,
    geometry: Geometry,
) -> DrawnVertex:
    name = str(vertex.get("name") or node.key)
    letters = _NAME_LETTERS[geometry]
    parallelism = vertex.get("parallelism")
    count = (
        ngettext("%(count)s subtask", "%(count)s subtasks", int(parallelism))
        % {"count": parallelism}
        if parallelism
        else gettext("subtasks unknown")
    )
    in_pool = window.in_pool_p50 if window else None
    out_pool = window.out_pool_p50 if window else None
    ratios = [ratio for ratio in (in_pool, out_pool) if ratio is not None]
    origin = blame.origins.get(node.key)
    role = "held" if node.key in blame.holders else ""
    if origin:
        role = "origin"
    activity = gettext("back-pressured") if role == "held" else activity_of(window)
    line = f"{count} · {activity}"
    if geometry == COMPACT:
        line = activity if parallelism is None else f"{parallelism} · {activity}"
    return DrawnVertex(
        node=node,
        name=name if len(name) <= letters else name[: letters - 1] + "…",
        line=line,
        level=usage_level(max(ratios, default=None)),
        pools=(_pool(gettext("in"), in_pool), _pool(gettext("out"), out_pool)),
        role=role,
        title=gettext(
            "%(name)s: %(count)s, %(does)s%(verdict)s. In pool %(in_pool)s, out pool %(out_pool)s."
        )
        % {
            "name": name,
            "count": count,
            "does": activity,
            "verdict": _verdict_on(node.key, blame),
            "in_pool": usage_text(in_pool),
            "out_pool": usage_text(out_pool),
        },
        url=reverse("finding", args=(origin.finding.pk,)) if origin else "",
    )


def _verdict_on(key: str, blame: Blame) -> str:
    if key in blame.origins:
        finding = blame.origins[key].finding
        return gettext("; origin of the pressure: %(title)s") % {"title": localised(finding.title)}
    return (
        gettext(" by %(holder)s") % {"holder": blame.holders[key]} if key in blame.holders else ""
    )


def activity_of(window: PressureWindow | None) -> str:
    """The activity that takes more than half of the median subtask's time; a fact, not a verdict."""
    if window is None:
        return gettext("not measured")
    if (window.backpressured_ms_per_s_p50 or 0) > _MOSTLY * FULL_MS_PER_S or (
        window.backpressured_share or 0
    ) > _MOSTLY:
        return gettext("back-pressured")
    if (window.busy_ms_per_s_p50 or 0) > _MOSTLY * FULL_MS_PER_S:
        return gettext("busy")
    return (
        gettext("free")
        if window.busy_ms_per_s_p50 is not None or window.backpressured_share is not None
        else gettext("time unknown")
    )


def _pool(title: str, ratio: float | None) -> Pool:
    return Pool(
        title, ratio, usage_level(ratio), round(min(max(ratio or 0.0, 0.0), 1.0) * BAR_PX, 1)
    )
