from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from spark_jobs.diagnosis.samples import Edge
from spark_jobs.diagnosis.topology import is_pointwise

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PlannedVertex:
    """``slot_group``: slot sharing group, None if unknown."""

    vertex_id: str
    name: str
    parallelism: int
    slot_group: str | None = None


@dataclass(frozen=True)
class PlannedEdge:
    """``source`` and ``target``: positions in ``Plan.vertices``."""

    source: int
    target: int
    is_pointwise: bool


@dataclass(frozen=True)
class Plan:
    vertices: tuple[PlannedVertex, ...]
    edges: tuple[PlannedEdge, ...]

    @property
    def tasks(self) -> int:
        return sum(vertex.parallelism for vertex in self.vertices)

    def group_slots(self) -> dict[str | None, range]:
        """The slots of each slot sharing group."""
        sizes: dict[str | None, int] = {}
        for vertex in self.vertices:
            sizes[vertex.slot_group] = max(vertex.parallelism, sizes.get(vertex.slot_group, 0))
        ends = accumulate(sizes.values())
        return {
            group: range(end - sizes[group], end) for group, end in zip(sizes, ends, strict=True)
        }

    def slots_needed(self) -> int:
        return sum(map(len, self.group_slots().values()))

    def inputs(self) -> list[list[PlannedEdge]]:
        edges_by_vertex: list[list[PlannedEdge]] = [[] for _ in self.vertices]
        for edge in self.edges:
            edges_by_vertex[edge.target].append(edge)
        return edges_by_vertex

    def producers_first(self) -> list[int]:
        """Positions of vertices; vertices in and below a cycle come last."""
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
        acyclic = set(ordered)
        return ordered + [
            position for position in range(len(self.vertices)) if position not in acyclic
        ]


def make_plan(planned_vertices: Iterable[PlannedVertex], edges: Iterable[Edge]) -> Plan:
    vertices = tuple(planned_vertices)
    positions = {vertex.vertex_id: position for position, vertex in enumerate(vertices)}
    planned_edges = []
    for edge in edges:
        if edge.source in positions and edge.target in positions:
            source, target = positions[edge.source], positions[edge.target]
            sizes = vertices[source].parallelism, vertices[target].parallelism
            planned_edges.append(PlannedEdge(source, target, is_pointwise(edge, *sizes)))
    return Plan(vertices, tuple(planned_edges))


def producer_ranges(producers: int, consumers: int) -> tuple[Indices, Indices]:
    """Pointwise: for each consumer, the first producer and the end of its producers (Flink's
    EdgeManagerBuildUtil).
    """
    consumer = np.arange(consumers, dtype=np.int64)
    first = consumer * producers // consumers
    if producers <= consumers:
        return first, first + 1
    return first, (consumer + 1) * producers // consumers


def consumers_of_each(producers: int, consumers: int) -> Indices:
    """Pointwise: the number of consumers of each producer."""
    if producers <= consumers:
        return np.bincount(producer_ranges(producers, consumers)[0], minlength=producers)
    return np.ones(producers, dtype=np.int64)
