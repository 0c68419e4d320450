"""What if checkpoints were regional: of the failed ones, how many would have completed? The job's
history is replayed within two limits: the largest share of parts that may be missing, and how many
checkpoints in a row a part may be carried. Parts are pipelined regions (:func:`regions_of`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.diagnosis.samples import Edge, Vertex
from spark_jobs.diagnosis.topology import POINTWISE, consumers

Part = str
Subtask = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One periodic checkpoint in the order of time.

    ``failed`` are the parts that did not finish; None: lost, and not known by whom.
    """

    checkpoint_id: int
    completed: bool
    failed: frozenset[Part] | None = frozenset()


@dataclass(frozen=True, slots=True)
class RegionalWhatIf:
    """``rescued`` are the ids of failed checkpoints that would have completed; the others are
    counted by what forbids it.

    ``over_reuse`` also holds those before the first success, when there is no snapshot to refer to;
    ``not_known`` lack who failed.
    """

    attempts: int
    failed: int
    rescued: tuple[int, ...]
    over_share: tuple[int, ...]
    over_reuse: tuple[int, ...]
    not_known: tuple[int, ...]

    @property
    def rescued_share(self) -> float | None:
        return len(self.rescued) / self.failed if self.failed else None

    @property
    def success_share(self) -> float | None:
        return (
            (self.attempts - self.failed + len(self.rescued)) / self.attempts
            if self.attempts
            else None
        )


def replay(
    history: Iterable[Attempt], parts: int, max_failed_share: float, max_consecutive_reuse: int
) -> RegionalWhatIf:
    """Replay ``history`` of a job of ``parts`` parts under the two limits.

    A part that never completed has no snapshot to refer to. A checkpoint that is lost as a whole
    changes nobody's reuse.
    """
    reused: dict[Part, int] = {}
    begun = False
    attempts = failed = 0
    rescued, over_share, over_reuse, not_known = [], [], [], []
    for attempt in history:
        attempts += 1
        if attempt.completed:
            reused, begun = {}, True
            continue
        failed += 1
        if not attempt.failed:
            not_known.append(attempt.checkpoint_id)
        elif not parts or len(attempt.failed) > max_failed_share * parts:
            over_share.append(attempt.checkpoint_id)
        elif not begun or any(
            reused.get(part, 0) >= max_consecutive_reuse for part in attempt.failed
        ):
            over_reuse.append(attempt.checkpoint_id)
        else:
            reused = {part: reused.get(part, 0) + 1 for part in attempt.failed}
            rescued.append(attempt.checkpoint_id)
    return RegionalWhatIf(
        attempts, failed, tuple(rescued), tuple(over_share), tuple(over_reuse), tuple(not_known)
    )


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


def parts_of(
    reported: Iterable[Mapping[str, object]], regions: Mapping[Subtask, Part]
) -> frozenset[Part] | None:
    """The parts named by entries of ``declines`` (with ``subtask``) or ``not_acknowledged`` (with
    ``subtasks``). None where an entry names nobody.
    """
    parts: set[Part] = set()
    for entry in reported:
        vertex_id, indexes = entry.get("vertex_id"), entry.get("subtasks")
        listed = list(indexes) if isinstance(indexes, list | tuple) else [entry.get("subtask")]
        named = [index for index in listed if isinstance(index, int)]
        if not isinstance(vertex_id, str) or len(named) < len(listed):
            return None
        parts |= {regions.get((vertex_id, index), f"{vertex_id}/{index}") for index in named}
    return frozenset(parts) or None
