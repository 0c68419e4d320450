"""The layout of a job graph: layers from source to sink, few crossings. Pure geometry in pixels;
the template draws it as SVG. An edge over several layers has its own lane in each of them, so that
it crosses no unrelated vertex. A cycle (only in damaged payloads) is cut at the edge that closes
it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

MARGIN = 4
MOST_NODES = 200
_SWEEPS = 6
_LANE = 14
_MOST_LANES = 3_000
"""Of all edges together: a graph that needs more is unreadable anyway."""


@dataclass(frozen=True)
class Geometry:
    """Sizes in pixels. ``downwards`` stacks the layers from top to bottom, for narrow screens."""

    node_width: int
    node_height: int
    gap_layers: int
    gap_nodes: int
    downwards: bool = False

    @property
    def along(self) -> int:
        return self.node_height if self.downwards else self.node_width

    @property
    def across(self) -> int:
        return self.node_width if self.downwards else self.node_height


FULL = Geometry(184, 92, 52, 26)
NARROW = Geometry(184, 92, 34, 20, downwards=True)
COMPACT = Geometry(150, 40, 40, 12)


@dataclass(frozen=True)
class Node:
    """``x`` and ``y`` of its top left corner."""

    key: str
    x: int
    y: int


@dataclass(frozen=True)
class Edge:
    """``path`` is the ``d`` of an SVG path from the far side of its source to the near side of its
    target.
    """

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Layout:
    """``widest`` is how many vertices the fullest layer holds."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int
    left_out: int = 0
    widest: int = 0


@dataclass(frozen=True)
class _Lane:
    source: str
    target: str
    layer: int


_Item = str | _Lane


def lay_out(
    keys: Sequence[str], edges: Iterable[tuple[str, str]], geometry: Geometry = FULL
) -> Layout:
    """Place ``keys`` (at most ``MOST_NODES``, in the given order) so that every edge points
    downstream.
    """
    shown = list(dict.fromkeys(keys))[:MOST_NODES]
    known = set(shown)
    links = _without_cycles(
        shown, [(a, b) for a, b in dict.fromkeys(edges) if a in known and b in known and a != b]
    )
    layers = _layers(shown, links)
    widest = max((len(layer) for layer in layers), default=0)
    chains = _chains(layers, links)
    ordered = _ordered(_with_lanes(layers, chains), chains)
    spots = _spots(ordered, geometry)
    across = max(
        (spots[item] + _size(item, geometry) for layer in ordered for item in layer), default=0
    )
    along = (
        len(ordered) * (geometry.along + geometry.gap_layers) - geometry.gap_layers
        if ordered
        else 0
    )
    layer_of = {item: number for number, layer in enumerate(ordered) for item in layer}
    corners = {
        item: (
            MARGIN + layer_of[item] * (geometry.along + geometry.gap_layers),
            MARGIN + spots[item],
        )
        for item in layer_of
    }
    nodes = tuple(_node(key, corners[key], geometry) for key in shown)
    drawn = tuple(
        Edge(*link, _path([corners[item] for item in chain], chain, geometry))
        for link, chain in zip(links, chains, strict=True)
    )
    size = (along + 2 * MARGIN, across + 2 * MARGIN) if ordered else (0, 0)
    width, height = (size[1], size[0]) if geometry.downwards else size
    return Layout(nodes, drawn, width, height, len(set(keys)) - len(shown), widest)


def _without_cycles(keys: Sequence[str], edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    targets = defaultdict(list)
    for source, target in edges:
        targets[source].append(target)
    kept: list[tuple[str, str]] = []
    state: dict[str, str] = {}
    for start in keys:
        if start in state:
            continue
        state[start] = "open"
        stack = [(start, iter(targets[start]))]
        while stack:
            key, rest = stack[-1]
            target = next(rest, "")
            if not target:
                state[key] = "done"
                stack.pop()
            elif state.get(target) != "open":
                kept.append((key, target))
                if target not in state:
                    state[target] = "open"
                    stack.append((target, iter(targets[target])))
    return kept


def _layers(keys: Sequence[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    targets, sources = defaultdict(list), defaultdict(list)
    for source, target in edges:
        targets[source].append(target)
        sources[target].append(source)
    waiting = {key: len(sources[key]) for key in keys}
    layer = dict.fromkeys(keys, 0)
    ready = [key for key in keys if not waiting[key]]
    for key in ready:
        for target in targets[key]:
            layer[target] = max(layer[target], layer[key] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for key in keys:
        if not sources[key] and targets[key]:
            layer[key] = min(layer[target] for target in targets[key]) - 1
    layers: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for key in keys:
        layers[layer[key]].append(key)
    return layers


def _chains(layers: list[list[str]], edges: list[tuple[str, str]]) -> list[list[_Item]]:
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


def _with_lanes(layers: list[list[str]], chains: list[list[_Item]]) -> list[list[_Item]]:
    items: list[list[_Item]] = [list(layer) for layer in layers]
    for chain in chains:
        for item in chain:
            if isinstance(item, _Lane):
                items[item.layer].append(item)
    return items


def _ordered(layers: list[list[_Item]], chains: list[list[_Item]]) -> list[list[_Item]]:
    neighbours: dict[_Item, list[_Item]] = defaultdict(list)
    for chain in chains:
        for first, second in pairwise(chain):
            neighbours[first].append(second)
            neighbours[second].append(first)
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        order = range(1, len(layers)) if forwards else range(len(layers) - 2, -1, -1)
        for number in order:
            beside = layers[number - 1 if forwards else number + 1]
            # Relative positions, so that layers of different size are comparable.
            place = {item: (position + 0.5) / len(beside) for position, item in enumerate(beside)}
            own = {
                item: (position + 0.5) / len(layers[number])
                for position, item in enumerate(layers[number])
            }
            weight = {}
            for item in layers[number]:
                places = [place[other] for other in neighbours[item] if other in place]
                weight[item] = sum(places) / len(places) if places else own[item]
            layers[number].sort(key=weight.__getitem__)
    return layers


def _size(item: _Item, geometry: Geometry) -> int:
    return _LANE if isinstance(item, _Lane) else geometry.across


def _spots(layers: list[list[_Item]], geometry: Geometry) -> dict[_Item, int]:
    gaps = geometry.gap_nodes
    lengths = [sum(_size(item, geometry) + gaps for item in layer) - gaps for layer in layers]
    longest = max(lengths, default=0)
    spots = {}
    for layer, length in zip(layers, lengths, strict=True):
        at = (longest - length) // 2
        for item in layer:
            spots[item] = at
            at += _size(item, geometry) + gaps
    return spots


def _node(key: str, corner: tuple[int, int], geometry: Geometry) -> Node:
    along, across = corner
    return Node(key, across, along) if geometry.downwards else Node(key, along, across)


def _path(corners: list[tuple[int, int]], chain: list[_Item], geometry: Geometry) -> str:
    middles = [
        (along, across + _size(item, geometry) // 2)
        for (along, across), item in zip(corners, chain, strict=True)
    ]
    parts = [_move("M", (middles[0][0] + geometry.along, middles[0][1]), geometry)]
    for (from_along, from_across), (to_along, to_across) in pairwise(middles):
        start = from_along + geometry.along
        end = to_along - (3 if (to_along, to_across) == middles[-1] else 0)
        bend = max((end - start) // 2, 12)
        points = ((start + bend, from_across), (end - bend, to_across), (end, to_across))
        parts.append("C" + " ".join(_point(point, geometry) for point in points))
        if (to_along, to_across) != middles[-1]:
            parts.append(_move("L", (to_along + geometry.along, to_across), geometry))
    return "".join(parts)


def _move(command: str, point: tuple[int, int], geometry: Geometry) -> str:
    return f"{command}{_point(point, geometry)}"


def _point(point: tuple[int, int], geometry: Geometry) -> str:
    return f"{point[1]} {point[0]}" if geometry.downwards else f"{point[0]} {point[1]}"
