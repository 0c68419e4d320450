"""Whom the findings name as the origin of pressure, and the way from those it holds back."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webapp.findings.job_findings import ORIGIN_RULES
from webapp.findings.presentation import PresentedFinding


@dataclass(frozen=True)
class Blame:
    """``origins``: vertex id → the finding that names it.

    ``held``: vertex id → name of its origin. ``way``: edges between them.
    """

    origins: Mapping[str, PresentedFinding] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    way: frozenset[tuple[str, str]] = frozenset()


NOBODY = Blame()


def blame(graph: Mapping[str, Any] | None, matters: Iterable[PresentedFinding]) -> Blame:
    """Names in the findings' paths are walked upstream from the origin, since two vertices may have
    one name.
    """
    names = {
        str(v["vertex_id"]): str(v.get("name") or "")
        for v in (graph or {}).get("vertices") or ()
        if v.get("vertex_id")
    }
    upstream: dict[str, list[str]] = defaultdict(list)
    for edge in (graph or {}).get("edges") or ():
        upstream[str(edge.get("target"))].append(str(edge.get("source")))
    origins: dict[str, PresentedFinding] = {}
    held: dict[str, str] = {}
    way: set[tuple[str, str]] = set()
    for matter in matters:
        if matter.finding.rule not in ORIGIN_RULES:
            continue
        origin = _vertex_of(matter, names)
        if origin is None:
            continue
        origins.setdefault(origin, matter)
        for relation in matter.relations:
            edges = _walked(relation.path, origin, names, upstream)
            way.update(edges)
            held.update({source: names[origin] for source, _target in edges})
    return Blame(
        origins, {key: name for key, name in held.items() if key not in origins}, frozenset(way)
    )


def _vertex_of(matter: PresentedFinding, names: Mapping[str, str]) -> str | None:
    data = matter.finding.data if isinstance(matter.finding.data, Mapping) else {}
    for vertex in (data.get("vertex_id"), matter.finding.subject_id):
        if vertex in names:
            return str(vertex)
    return next(
        (key for key, name in names.items() if name and name == matter.finding.subject), None
    )


def _walked(
    path: tuple[str, ...], origin: str, names: Mapping[str, str], upstream: Mapping[str, list[str]]
) -> list[tuple[str, str]]:
    """Edges along ``path``, which ends at the origin; as far as the plan knows them."""
    edges, at = [], origin
    for name in reversed(path[:-1]):
        source = next((key for key in upstream.get(at, ()) if names.get(key) == name), None)
        if source is None:
            break
        edges.append((source, at))
        at = source
    return edges
