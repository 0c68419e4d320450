"""The job graph. It may have cycles (iterations), parallel edges (side outputs) and edges to
vertices missing from the plan.
"""

from collections.abc import Iterable

from spark_jobs.diagnosis.samples import Edge

POINTWISE = frozenset({"FORWARD", "RESCALE"})


class Topology:
    def __init__(self, edges: Iterable[Edge]) -> None:
        self.out_edges: dict[str, list[Edge]] = {}
        self.in_edges: dict[str, list[Edge]] = {}
        for edge in edges:
            self.out_edges.setdefault(edge.source, []).append(edge)
            self.in_edges.setdefault(edge.target, []).append(edge)

    def downstream(self, vertex_id: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.target for edge in self.out_edges.get(vertex_id, ())))

    def upstream(self, vertex_id: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.source for edge in self.in_edges.get(vertex_id, ())))

    def is_source(self, vertex_id: str) -> bool:
        return vertex_id not in self.in_edges

    def all_downstream(self, vertex_id: str) -> frozenset[str]:
        reached: set[str] = set()
        waiting = list(self.downstream(vertex_id))
        while waiting:
            vertex = waiting.pop()
            if vertex not in reached:
                reached.add(vertex)
                waiting.extend(self.downstream(vertex))
        return frozenset(reached)


def is_pointwise(edge: Edge, producer_count: int, consumer_count: int) -> bool:
    """False for FORWARD if the parallelisms differ, as in an outdated plan."""
    if edge.ship_strategy not in POINTWISE or not producer_count or not consumer_count:
        return False
    return edge.ship_strategy == "RESCALE" or producer_count == consumer_count


def consumers(edge: Edge, producer: int, producer_count: int, consumer_count: int) -> range:
    """Subtasks of the target that subtask ``producer`` writes to. Pointwise edges spread the larger
    side evenly in index order, as Flink's scheduler does.
    """
    if edge.ship_strategy == "GLOBAL":
        return range(min(1, consumer_count))
    if not is_pointwise(edge, producer_count, consumer_count):
        return range(consumer_count)
    if producer_count >= consumer_count:
        # Consumer c reads producers c*P//C up to (c+1)*P//C.
        consumer = ((producer + 1) * consumer_count - 1) // producer_count
        return range(consumer, consumer + 1)
    return range(
        -(-producer * consumer_count // producer_count),
        -(-(producer + 1) * consumer_count // producer_count),
    )
