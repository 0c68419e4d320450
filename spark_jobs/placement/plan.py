from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spark_jobs.diagnosis.samples import Edge
from spark_jobs.diagnosis.topology import is_pointwise

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PlannedVertex:
    """``slot_group``: None if unknown."""

    vertex_id: str
    name: str
    parallelism: int
    slot_group: str | None = None


@dataclass(frozen=True)
class PlannedEdge:
    source: int
    target: int
    is_pointwise: bool


@dataclass(frozen=True)
class Plan:
    """In plan order. A cycle of edges is cut where it closes."""

    vertices: tuple[PlannedVertex, ...]
    edges: tuple[PlannedEdge, ...]

    @property
    def tasks(self) -> int:
        return sum(vertex.parallelism for vertex in self.vertices)

    def groups(self) -> dict[str | None, list[int]]:
        vertices_by_group: dict[str | None, list[int]] = {}
        for position, vertex in enumerate(self.vertices):
            vertices_by_group.setdefault(vertex.slot_group, []).append(position)
        return vertices_by_group

    def slots_needed(self) -> int:
        return sum(
            max(self.vertices[position].parallelism for position in of_group)
            for of_group in self.groups().values()
        )

    def inputs(self) -> list[list[PlannedEdge]]:
        edges_by_vertex: list[list[PlannedEdge]] = [[] for _ in self.vertices]
        for edge in self.edges:
            edges_by_vertex[edge.target].append(edge)
        return edges_by_vertex

    def in_order(self) -> list[int]:
        inputs = self.inputs()
        consumers: list[list[int]] = [[] for _ in self.vertices]
        open_inputs = [len(edges) for edges in inputs]
        for edge in self.edges:
            consumers[edge.source].append(edge.target)
        ready = [position for position, count in enumerate(open_inputs) if not count]
        ordered: list[int] = []
        for position in ready:  # grows while it is read
            ordered.append(position)
            for consumer in consumers[position]:
                open_inputs[consumer] -= 1
                if not open_inputs[consumer]:
                    ready.append(consumer)
        placed = set(ordered)
        return ordered + [
            position for position in range(len(self.vertices)) if position not in placed
        ]


def planned(vertices: Iterable[PlannedVertex], edges: Iterable[Edge]) -> Plan:
    known = tuple(vertices)
    position = {vertex.vertex_id: at for at, vertex in enumerate(known)}
    planned_edges = []
    for edge in edges:
        if edge.source in position and edge.target in position:
            source, target = position[edge.source], position[edge.target]
            pointwise = is_pointwise(edge, known[source].parallelism, known[target].parallelism)
            planned_edges.append(PlannedEdge(source, target, pointwise))
    return Plan(known, tuple(planned_edges))


def producers(source: int, target: int) -> Sequence[Indices]:
    """Pointwise: the first and, exclusive, the last producer of each consumer, for both
    parallelisms (Flink's EdgeManagerBuildUtil).
    """
    consumer = np.arange(target, dtype=np.int64)
    first = consumer * source // target
    if source <= target:
        return first, first + 1
    return first, (consumer + 1) * source // target


def consumers_of_each(source: int, target: int) -> Indices:
    if source <= target:
        return np.bincount(producers(source, target)[0], minlength=source)
    return np.ones(source, dtype=np.int64)
