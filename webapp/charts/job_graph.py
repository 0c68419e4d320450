"""Where the vertices of a job stand when it is drawn: layers from source to sink, few crossings.

Pure geometry in pixels; the template draws it as SVG. A cycle, which Flink never reports but a damaged
payload may, is cut at the edge that closes it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NODE_WIDTH, NODE_HEIGHT = 184, 92
GAP_X, GAP_Y = 52, 22
MARGIN = 4
MOST_NODES = 200
_SWEEPS = 4


@dataclass(frozen=True)
class Node:
    """Top left corner."""

    key: str
    x: int
    y: int


@dataclass(frozen=True)
class Edge:
    """``path`` is the ``d`` of an SVG path from the right side of its source to the left side of its target."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Layout:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int
    left_out: int = 0


def lay_out(keys: Sequence[str], edges: Iterable[tuple[str, str]]) -> Layout:
    """Place ``keys`` (at most ``MOST_NODES`` of them, in the given order) so that every edge goes right."""
    shown = list(dict.fromkeys(keys))[:MOST_NODES]
    known = set(shown)
    links = _without_cycles(shown, [(a, b) for a, b in dict.fromkeys(edges) if a in known and b in known and a != b])
    layers = _ordered(_layers(shown, links), links)
    tallest = max((len(layer) for layer in layers), default=0)
    height = tallest * (NODE_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN if tallest else 0
    nodes = {}
    for column, layer in enumerate(layers):
        top = (height - (len(layer) * (NODE_HEIGHT + GAP_Y) - GAP_Y)) // 2
        for row, key in enumerate(layer):
            nodes[key] = Node(key, MARGIN + column * (NODE_WIDTH + GAP_X), top + row * (NODE_HEIGHT + GAP_Y))
    width = len(layers) * (NODE_WIDTH + GAP_X) - GAP_X + 2 * MARGIN if layers else 0
    return Layout(
        tuple(nodes[key] for key in shown),
        tuple(Edge(a, b, _path(nodes[a], nodes[b])) for a, b in links),
        width,
        height,
        len(set(keys)) - len(shown),
    )


def _without_cycles(keys: Sequence[str], edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Edges met on the way back into a vertex that is still being visited are dropped."""
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
    """Each vertex one column right of its farthest upstream."""
    sources = defaultdict(list)
    waiting = dict.fromkeys(keys, 0)
    for source, target in edges:
        sources[source].append(target)
        waiting[target] += 1
    column = dict.fromkeys(keys, 0)
    ready = [key for key in keys if not waiting[key]]
    for key in ready:
        for target in sources[key]:
            column[target] = max(column[target], column[key] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    layers: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for key in keys:
        layers[column[key]].append(key)
    return layers


def _ordered(layers: list[list[str]], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Sort each layer by the mean place of its neighbours, forwards and backwards in turn (Sugiyama's barycentre)."""
    neighbours = defaultdict(list)
    for source, target in edges:
        neighbours[source].append(target)
        neighbours[target].append(source)
    for sweep in range(_SWEEPS):
        order = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for column in order:
            beside = layers[column - 1 if sweep % 2 == 0 else column + 1]
            # Relative places, so that a layer of two and a layer of ten compare.
            place = {key: (position + 0.5) / len(beside) for position, key in enumerate(beside)}
            own = {key: (position + 0.5) / len(layers[column]) for position, key in enumerate(layers[column])}
            weight = {}
            for key in layers[column]:
                places = [place[other] for other in neighbours[key] if other in place]
                weight[key] = sum(places) / len(places) if places else own[key]
            layers[column].sort(key=lambda key, weight=weight: weight[key])  # type: ignore[misc]
    return layers


def _path(source: Node, target: Node) -> str:
    x0, y0 = source.x + NODE_WIDTH, source.y + NODE_HEIGHT // 2
    x1, y1 = target.x - 3, target.y + NODE_HEIGHT // 2
    bend = max((x1 - x0) // 2, 12)
    return f"M{x0} {y0}C{x0 + bend} {y0} {x1 - bend} {y1} {x1} {y1}"
