"""Failover regions: what Flink restarts when a subtask is lost. Tasks that exchange records restart
together (``jobmanager.execution.failover-strategy: region``); an all-to-all exchange makes its
vertices one region.
"""

from collections.abc import Sequence

import numpy as np

from spark_jobs.placement.plan import Indices, Plan, PlannedEdge, producer_ranges


def regions(plan: Plan, *, full: bool = False) -> list[Indices]:
    """By vertex, the region of each subtask. ``full``: the strategy that restarts all tasks."""
    firsts = np.cumsum([0, *(vertex.parallelism for vertex in plan.vertices)])
    labels = [
        first + np.arange(vertex.parallelism)
        for first, vertex in zip(firsts, plan.vertices, strict=False)
    ]
    if full:
        return [np.zeros_like(vertex_labels) for vertex_labels in labels]
    for vertices, edges in _connected_parts(plan):
        if all(edge.is_pointwise for edge in edges):
            # Along edges, the smallest label spreads to all subtasks of a region.
            while sum(_join_labels(plan, edge, labels) for edge in (*edges, *reversed(edges))):
                pass
        else:
            for vertex in vertices:
                labels[vertex][:] = firsts[vertices[0]]
    # A region is labelled with the first of its tasks.
    task_labels = np.concatenate(labels)
    region_numbers = np.cumsum(task_labels == np.arange(len(task_labels))) - 1
    return np.split(region_numbers[task_labels], firsts[1:-1])


def _connected_parts(plan: Plan) -> list[tuple[list[int], list[PlannedEdge]]]:
    """Connected vertices with their edges, producers first. One all-to-all edge makes them one
    region: on each other edge every subtask has a producer and a consumer.
    """
    neighbours: list[set[int]] = [set() for _ in plan.vertices]
    for edge in plan.edges:
        neighbours[edge.source].add(edge.target)
        neighbours[edge.target].add(edge.source)
    part_of: dict[int, int] = {}
    for start in range(len(plan.vertices)):
        queue = [] if start in part_of else [start]
        for vertex in queue:  # grows during the loop
            if vertex not in part_of:
                part_of[vertex] = start
                queue.extend(neighbours[vertex] - part_of.keys())
    parts: dict[int, tuple[list[int], list[PlannedEdge]]] = {}
    for vertex, first in part_of.items():
        parts.setdefault(first, ([], []))[0].append(vertex)
    rank = {vertex: index for index, vertex in enumerate(plan.producers_first())}
    for edge in sorted(plan.edges, key=lambda edge: rank[edge.source]):
        parts[part_of[edge.source]][1].append(edge)
    return list(parts.values())


def restarted_by_taskmanager(
    regions: Sequence[Indices], taskmanager_of: Sequence[Indices], taskmanagers: int
) -> Indices:
    """By TaskManager, the number of tasks in the regions that have a task on it. Unknown
    TaskManagers are below 0.
    """
    sizes = region_sizes(regions)
    region_of_task, taskmanager = np.concatenate(regions), np.concatenate(taskmanager_of)
    is_known = taskmanager >= 0
    pairs = np.unique(taskmanager[is_known] * len(sizes) + region_of_task[is_known])
    return np.bincount(
        pairs // len(sizes), weights=sizes[pairs % len(sizes)], minlength=taskmanagers
    ).astype(np.int64)


def region_sizes(regions: Sequence[Indices]) -> Indices:
    return np.bincount(np.concatenate(regions))


def _join_labels(plan: Plan, edge: PlannedEdge, labels: list[Indices]) -> bool:
    """Returns whether any label changed."""
    upstream, downstream = labels[edge.source], labels[edge.target]
    first, end = producer_ranges(
        plan.vertices[edge.source].parallelism, plan.vertices[edge.target].parallelism
    )
    previous_sum = int(upstream.sum() + downstream.sum())
    producers = [
        np.where(first + offset < end, first + offset, first)
        for offset in range(int((end - first).max()))
    ]
    for producer in producers:
        np.minimum(downstream, upstream[producer], out=downstream)
    for producer in producers:
        np.minimum.at(upstream, producer, downstream)
    return int(upstream.sum() + downstream.sum()) != previous_sum
