"""The layout of a job graph in pixels: layers from source to sink, few crossings. The template
draws it as SVG. An edge over several layers has a lane in each layer between, so that it crosses no
unrelated vertex. A cycle (only in damaged payloads) is cut at the edge that closes it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

MARGIN = 4
MOST_NODES = 200
_SWEEPS = 6
_LANE_HEIGHT = 14
_MOST_LANES = 3_000
"""A graph that needs more is drawn without lanes."""


@dataclass(frozen=True)
class Geometry:
    """Sizes in pixels."""

    node_width: int
    node_height: int
    gap_layers: int
    gap_nodes: int


FULL = Geometry(184, 92, 52, 26)
COMPACT = Geometry(150, 40, 40, 12)


@dataclass(frozen=True)
class Node:
    """``x`` and ``y`` of its top left corner."""

    key: str
    x: int
    y: int


@dataclass(frozen=True)
class Edge:
    """``path``: ``d`` of an SVG path from the right of its source to the left of its target."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Layout:
    """``left_out``: vertices beyond ``MOST_NODES``."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int
    left_out: int = 0


@dataclass(frozen=True)
class _Lane:
    source: str
    target: str
    layer: int


_Item = str | _Lane
_Chains = list[list[_Item]]


def lay_out(
    keys: Sequence[str], edges: Iterable[tuple[str, str]], geometry: Geometry = FULL
) -> Layout:
    """Place the first ``MOST_NODES`` of ``keys`` so that every edge points downstream."""
    node_keys = list(dict.fromkeys(keys))[:MOST_NODES]
    nodes = set(node_keys)
    links = _without_cycles(
        node_keys,
        [edge for edge in dict.fromkeys(edges) if nodes.issuperset(edge) and edge[0] != edge[1]],
    )
    layers = _layers(node_keys, links)
    chains = _chains(layers, links)
    ordered = _order_layers(_with_lanes(layers, chains), chains)
    tops = _tops(ordered, geometry)
    step = geometry.node_width + geometry.gap_layers
    corners = {
        item: (MARGIN + number * step, MARGIN + tops[item])
        for number, layer in enumerate(ordered)
        for item in layer
    }
    drawn_edges = tuple(
        Edge(*link, _path([corners[item] for item in chain], chain, geometry))
        for link, chain in zip(links, chains, strict=True)
    )
    bottoms = [top + _height(item, geometry) for item, (_, top) in corners.items()]
    return Layout(
        nodes=tuple(Node(key, *corners[key]) for key in node_keys),
        edges=drawn_edges,
        width=len(ordered) * step - geometry.gap_layers + 2 * MARGIN if ordered else 0,
        height=max(bottoms) + MARGIN if bottoms else 0,
        left_out=len(set(keys)) - len(node_keys),
    )


def _without_cycles(keys: Sequence[str], edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    targets = defaultdict(list)
    for source, target in edges:
        targets[source].append(target)
    acyclic: list[tuple[str, str]] = []
    state: dict[str, str] = {}
    for start in keys:
        if start in state:
            continue
        state[start] = "open"
        stack = [(start, iter(targets[start]))]
        while stack:
            key, unvisited = stack[-1]
            target = next(unvisited, "")
            if not target:
                state[key] = "done"
                stack.pop()
            elif state.get(target) != "open":
                acyclic.append((key, target))
                if target not in state:
                    state[target] = "open"
                    stack.append((target, iter(targets[target])))
    return acyclic


def _layers(keys: Sequence[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    targets, sources = defaultdict(list), defaultdict(list)
    for source, target in edges:
        targets[source].append(target)
        sources[target].append(source)
    open_inputs = {key: len(sources[key]) for key in keys}
    layer = dict.fromkeys(keys, 0)
    ready = [key for key in keys if not open_inputs[key]]
    for key in ready:
        for target in targets[key]:
            layer[target] = max(layer[target], layer[key] + 1)
            open_inputs[target] -= 1
            if not open_inputs[target]:
                ready.append(target)
    for key in keys:
        if not sources[key] and targets[key]:
            layer[key] = min(layer[target] for target in targets[key]) - 1
    layers: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for key in keys:
        layers[layer[key]].append(key)
    return layers


def _chains(layers: list[list[str]], edges: list[tuple[str, str]]) -> _Chains:
    layer = {key: number for number, of_layer in enumerate(layers) for key in of_layer}
    if sum(layer[target] - layer[source] - 1 for source, target in edges) > _MOST_LANES:
        return [[source, target] for source, target in edges]
    return [
        [
            source,
            *(_Lane(source, target, number) for number in range(layer[source] + 1, layer[target])),
            target,
        ]
        for source, target in edges
    ]


def _with_lanes(layers: list[list[str]], chains: _Chains) -> _Chains:
    items: _Chains = [list(layer) for layer in layers]
    for chain in chains:
        for item in chain:
            if isinstance(item, _Lane):
                items[item.layer].append(item)
    return items


def _order_layers(layers: _Chains, chains: _Chains) -> _Chains:
    neighbours: dict[_Item, list[_Item]] = defaultdict(list)
    for chain in chains:
        for first, second in pairwise(chain):
            neighbours[first].append(second)
            neighbours[second].append(first)
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        order = range(1, len(layers)) if forwards else range(len(layers) - 2, -1, -1)
        for number in order:
            sorted_layer = _places(layers[number - 1 if forwards else number + 1])
            weights = _places(layers[number])
            for item in layers[number]:
                places = [
                    sorted_layer[neighbour]
                    for neighbour in neighbours[item]
                    if neighbour in sorted_layer
                ]
                if places:
                    weights[item] = sum(places) / len(places)
            layers[number].sort(key=weights.__getitem__)
    return layers


def _places(layer: list[_Item]) -> dict[_Item, float]:
    """Positions 0 … 1, so that layers of different size are comparable."""
    return {item: (position + 0.5) / len(layer) for position, item in enumerate(layer)}


def _height(item: _Item, geometry: Geometry) -> int:
    return _LANE_HEIGHT if isinstance(item, _Lane) else geometry.node_height


def _tops(layers: _Chains, geometry: Geometry) -> dict[_Item, int]:
    gaps = geometry.gap_nodes
    lengths = [sum(_height(item, geometry) + gaps for item in layer) - gaps for layer in layers]
    longest = max(lengths, default=0)
    tops = {}
    for layer, length in zip(layers, lengths, strict=True):
        top = (longest - length) // 2
        for item in layer:
            tops[item] = top
            top += _height(item, geometry) + gaps
    return tops


def _path(corners: list[tuple[int, int]], chain: list[_Item], geometry: Geometry) -> str:
    middles = [
        (left, top + _height(item, geometry) // 2)
        for (left, top), item in zip(corners, chain, strict=True)
    ]
    parts = [f"M{middles[0][0] + geometry.node_width} {middles[0][1]}"]
    for (from_x, from_y), (to_x, to_y) in pairwise(middles):
        is_last = (to_x, to_y) == middles[-1]
        start = from_x + geometry.node_width
        end = to_x - (3 if is_last else 0)
        bend = max((end - start) // 2, 12)
        parts.append(f"C{start + bend} {from_y} {end - bend} {to_y} {end} {to_y}")
        if not is_last:
            parts.append(f"L{to_x + geometry.node_width} {to_y}")
    return "".join(parts)
