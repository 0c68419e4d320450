"""The job graph for rules. It may have cycles (iterations), parallel edges (side outputs) and edges
to vertices missing from the plan.
"""

from collections import deque
from collections.abc import Collection, Iterable

from spark_jobs.diagnosis.samples import Edge, Vertex

POINTWISE = frozenset({"FORWARD", "RESCALE"})


class Topology:
    def __init__(self, vertices: Iterable[Vertex], edges: Iterable[Edge]) -> None:
        self.names: dict[str, str] = {vertex.vertex_id: vertex.name for vertex in vertices}
        self.out_edges: dict[str, list[Edge]] = {}
        self.in_edges: dict[str, list[Edge]] = {}
        for edge in edges:
            self.out_edges.setdefault(edge.source, []).append(edge)
            self.in_edges.setdefault(edge.target, []).append(edge)

    def name(self, vertex_id: str) -> str:
        return self.names.get(vertex_id) or vertex_id

    def downstream(self, vertex_id: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.target for edge in self.out_edges.get(vertex_id, ())))

    def upstream(self, vertex_id: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edge.source for edge in self.in_edges.get(vertex_id, ())))

    def is_source(self, vertex_id: str) -> bool:
        return vertex_id not in self.in_edges

    def all_downstream(self, vertex_id: str) -> frozenset[str]:
        seen: set[str] = set()
        waiting = list(self.downstream(vertex_id))
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                waiting.extend(self.downstream(here))
        return frozenset(seen)

    def path(self, start: str, end: str, through: Collection[str] | None = None) -> tuple[str, ...]:
        """The shortest downstream path, both ends included. ``through`` limits the vertices in
        between.
        """
        came_from: dict[str, str | None] = {start: None}
        waiting = deque((start,))
        while waiting:
            here = waiting.popleft()
            if here == end:
                return _walk(came_from, end)
            for following in self.downstream(here):
                if following not in came_from and (
                    following == end or through is None or following in through
                ):
                    came_from[following] = here
                    waiting.append(following)
        return ()


def is_pointwise(edge: Edge, producers: int, consumer_count: int) -> bool:
    """False for FORWARD between two parallelisms, as in an outdated plan."""
    if edge.ship_strategy not in POINTWISE or not producers or not consumer_count:
        return False
    return edge.ship_strategy == "RESCALE" or producers == consumer_count


def consumers(edge: Edge, producer: int, producers: int, consumer_count: int) -> range:
    """Subtasks of the target that subtask ``producer`` writes to. Pointwise edges deal the larger
    side out evenly in index order, as Flink's scheduler does.
    """
    if edge.ship_strategy == "GLOBAL":
        return range(min(1, consumer_count))
    if not is_pointwise(edge, producers, consumer_count):
        return range(consumer_count)
    if producers >= consumer_count:
        # Consumer c reads producers c*P//C up to (c+1)*P//C.
        consumer = ((producer + 1) * consumer_count - 1) // producers
        return range(consumer, consumer + 1)
    return range(
        -(-producer * consumer_count // producers), -(-(producer + 1) * consumer_count // producers)
    )


def _walk(came_from: dict[str, str | None], end: str) -> tuple[str, ...]:
    steps: list[str] = []
    here: str | None = end
    while here is not None:
        steps.append(here)
        here = came_from[here]
    return tuple(reversed(steps))
