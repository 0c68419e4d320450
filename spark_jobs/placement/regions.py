"""Failover regions: what Flink restarts when a subtask is lost. Tasks that exchange records restart
together (``jobmanager.execution.failover-strategy: region``); an all-to-all exchange makes its
vertices one region.
"""

from collections.abc import Sequence

import numpy as np

from spark_jobs.placement.plan import Indices, Plan, PlannedEdge, producers


def regions(plan: Plan, *, full: bool = False) -> list[Indices]:
    """By vertex, the region of each subtask. ``full``: the failover strategy that restarts all
    tasks.
    """
    firsts = np.cumsum([0, *(vertex.parallelism for vertex in plan.vertices)])
    labels = [
        first + np.arange(vertex.parallelism)
        for first, vertex in zip(firsts, plan.vertices, strict=False)
    ]
    if full:
        return [np.zeros_like(of_vertex) for of_vertex in labels]
    for vertices, edges in _connected_parts(plan):
        if all(edge.is_pointwise for edge in edges):
            # The smallest label spreads to all subtasks of a region along edges, downstream and
            # upstream.
            while sum(_join_labels(plan, edge, labels) for edge in (*edges, *reversed(edges))):
                pass
        else:
            for vertex in vertices:
                labels[vertex][:] = firsts[vertices[0]]
    # A region is labelled with the first of its tasks.
    flat = np.concatenate(labels)
    numbers = np.cumsum(flat == np.arange(len(flat))) - 1
    return np.split(numbers[flat], firsts[1:-1])


def _connected_parts(plan: Plan) -> list[tuple[list[int], list[PlannedEdge]]]:
    """Producers first. One all-to-all edge makes connected vertices one region: every subtask of a
    vertex has a producer and a consumer on each of its other edges.
    """
    beside: list[set[int]] = [set() for _ in plan.vertices]
    for edge in plan.edges:
        beside[edge.source].add(edge.target)
        beside[edge.target].add(edge.source)
    component: dict[int, int] = {}
    for start in range(len(plan.vertices)):
        waiting = [] if start in component else [start]
        for vertex in waiting:  # grows while it is read
            if vertex not in component:
                component[vertex] = start
                waiting.extend(beside[vertex] - component.keys())
    components: dict[int, tuple[list[int], list[PlannedEdge]]] = {}
    for vertex, first in component.items():
        components.setdefault(first, ([], []))[0].append(vertex)
    place = {vertex: at for at, vertex in enumerate(plan.in_order())}
    for edge in sorted(plan.edges, key=lambda edge: place[edge.source]):
        components[component[edge.source]][1].append(edge)
    return list(components.values())


def restarted_by_taskmanager(
    regions: Sequence[Indices], taskmanager_of: Sequence[Indices], taskmanagers: int
) -> Indices:
    """All tasks of the regions with a task on it. Tasks of unknown TaskManager (below 0) count for
    none.
    """
    sizes = region_sizes(regions)
    regions_of, where = np.concatenate(regions), np.concatenate(taskmanager_of)
    hit = np.unique(where[where >= 0] * len(sizes) + regions_of[where >= 0])
    return np.bincount(
        hit // len(sizes), weights=sizes[hit % len(sizes)], minlength=taskmanagers
    ).astype(np.int64)


def region_sizes(regions: Sequence[Indices]) -> Indices:
    return np.bincount(np.concatenate(regions))


def _join_labels(plan: Plan, edge: PlannedEdge, labels: list[Indices]) -> bool:
    above, below = labels[edge.source], labels[edge.target]
    first, end = producers(
        plan.vertices[edge.source].parallelism, plan.vertices[edge.target].parallelism
    )
    before = int(above.sum() + below.sum())
    choices = [
        np.where(first + offset < end, first + offset, first)
        for offset in range(int((end - first).max()))
    ]
    for producer in choices:
        np.minimum(below, above[producer], out=below)
    for producer in choices:
        np.minimum.at(above, producer, below)
    return int(above.sum() + below.sum()) != before
