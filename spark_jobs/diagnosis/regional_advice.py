"""What if checkpoints were regional: of the failed ones, how many would have completed? For parts
that failed it refers to their last good snapshot, within two limits: the largest share of parts
that may be missing, and how many checkpoints in a row a part may be carried. Parts are pipelined
regions (:func:`regions_of`). The answer is a replay of the job's
own history.
"""

from collections.abc import Iterable

from spark_jobs.diagnosis.samples import Edge, Vertex
from spark_jobs.diagnosis.topology import POINTWISE, consumers

Part = str
Subtask = tuple[str, int]


def regions_of(vertices: Iterable[Vertex], edges: Iterable[Edge]) -> dict[Subtask, Part]:
    """The pipelined region of every (vertex id, subtask): subtasks that exchange records, directly
    or through others, are in one.

    An edge that is not pointwise connects all subtasks of both its vertices. Vertices of unknown
    parallelism are left out.
    """
    parallelism = {
        vertex.vertex_id: vertex.parallelism for vertex in vertices if vertex.parallelism
    }
    leader: dict[Subtask, Subtask] = {
        (id, index): (id, index) for id, count in parallelism.items() for index in range(count)
    }
    for edge in edges:
        above, below = parallelism.get(edge.source), parallelism.get(edge.target)
        if not above or not below:
            continue
        if edge.ship_strategy in POINTWISE:
            for producer in range(above):
                for consumer in consumers(edge, producer, above, below):
                    _join(leader, (edge.source, producer), (edge.target, consumer))
        else:
            for index in range(above):
                _join(leader, (edge.source, index), (edge.target, 0))
            for index in range(below):
                _join(leader, (edge.source, 0), (edge.target, index))
    return {subtask: "/".join(map(str, _leader(leader, subtask))) for subtask in leader}


def region_size(vertices: Iterable[Vertex], edges: Iterable[Edge], vertex_id: str) -> int | None:
    """How many subtasks are in the region of one subtask of ``vertex_id``: what restarts when it
    fails.

    None where a parallelism is not known, or where pointwise edges join subtasks unevenly.
    """
    parallelism = {vertex.vertex_id: vertex.parallelism for vertex in vertices}
    reached, joins, waiting = {vertex_id}, False, [vertex_id]
    for region in waiting:
        for edge in edges:
            if region in (edge.source, edge.target):
                joins = joins or edge.ship_strategy not in POINTWISE
                fresh = {edge.source, edge.target} - reached
                reached |= fresh
                waiting.extend(fresh)
    counts = [parallelism.get(vertex_id) for vertex_id in reached]
    known = [count for count in counts if count]
    if len(known) < len(counts):
        return None
    if joins:
        return sum(known)
    return len(known) if len(set(known)) == 1 else None


def _join(leader: dict[Subtask, Subtask], subtask: Subtask, other: Subtask) -> None:
    first, second = sorted((_leader(leader, subtask), _leader(leader, other)))
    leader[second] = first


def _leader(leader: dict[Subtask, Subtask], subtask: Subtask) -> Subtask:
    while leader[subtask] != subtask:
        leader[subtask] = leader[leader[subtask]]
        subtask = leader[subtask]
    return subtask
