"""Finds the consumers that hold a back-pressured vertex back, subtask by subtask. The consumer at
the end of a full channel is held back itself, or is the origin: it works without pause.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from spark_jobs.diagnosis.findings import Limits
from spark_jobs.diagnosis.pressure import Subtasks, typical
from spark_jobs.diagnosis.topology import Topology, consumers, is_pointwise

DEEPEST = 100
"""The walk ends after so many partly held vertices in a row."""

Places = tuple[frozenset[str | None], ...]
"""TaskManagers that feed one consumer subtask, a set for each edge; None if unknown."""

Role = Literal["origin", "held", "mixed", "free", "unknown"]
"""``mixed``: waits for part of the time only; ``free``: holds nobody back."""

BACKPRESSURED = "pressure.root.backpressured_ratio"
BUSY = "pressure.root.busy_ratio"
OWN_BACKPRESSURE = 0.05
"""A vertex that waits more may be held itself: its consumers are checked first."""
SLACK = 0.1
"""Figures of two vertices are averages over minutes that differ by seconds."""
FULL_INPUT = 0.5
"""If half of the buffers are in use over a window, records queue."""
EMPTY_INPUT = 0.2
"""A vertex that back-pressures others always has records in its input."""


@dataclass(frozen=True, slots=True)
class LeastWork:
    """The least share of the window that a consumer must work to pass back-pressure on, and to be
    its origin. ``empty_clears``: an empty input over remote channels disproves both.
    """

    passing: float
    origin: float
    empty_clears: bool = True


@dataclass(frozen=True, slots=True)
class Origin:
    """``full_input``: over remote channels. ``measured``: busy time was reported. ``working``: the
    largest share of the window; ``working_at_most``: including subtasks of unknown work.
    ``agrees``: the origin worked for as long as the producer waited.
    """

    vertex_id: str
    subtasks: tuple[int, ...]
    full_input: bool
    measured: bool
    working: float
    working_at_most: float
    agrees: bool = True


@dataclass(slots=True)
class Holders:
    """The consumers that a producer waits for; none if all have time to spare. ``passing``: those
    that are held themselves. ``unknown``: those with too little data. ``rivals``: busy ones, if
    figures do not show which of them holds.
    """

    origins: list[Origin] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    rivals: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.origins or self.passing or self.unknown or self.rivals)


class Walk:
    def __init__(
        self, topology: Topology, vertices: Mapping[str, Subtasks], limits: Limits
    ) -> None:
        self._topology = topology
        self._vertices = vertices
        self.limits = limits
        self.partly_held: dict[tuple[str, tuple[int, ...]], Holders] = {}
        self._unfinished: set[str] = set()

    def holders(self, vertex_id: str, subtasks: Sequence[int], least: LeastWork) -> Holders:
        holding = Holders()
        possible: list[Origin] = []
        for target in self._topology.downstream(vertex_id):
            self._judge_consumer(vertex_id, subtasks, target, least, holding, possible)
        self._decide(holding, possible)
        return holding

    def holders_of_held(self, vertex_id: str, subtasks: Sequence[int], ratio: float) -> Holders:
        """If no consumer works for as long as the producer waits, one that is mostly busy or
        waiting explains the wait.
        """
        least = ratio - SLACK
        strict = self.holders(vertex_id, subtasks, LeastWork(least, least))
        if not strict.is_empty:
            return strict
        loose = self.holders(
            vertex_id, subtasks, LeastWork(0.0, self.limits[BUSY], empty_clears=False)
        )
        loose.origins = [replace(origin, agrees=False) for origin in loose.origins]
        return loose

    def _judge_consumer(
        self,
        vertex_id: str,
        subtasks: Sequence[int],
        target: str,
        least: LeastWork,
        holders: Holders,
        possible: list[Origin],
    ) -> None:
        consumer = self._vertices.get(target)
        if consumer is None:
            holders.unknown.append(target)
            return
        places = self._reachable(vertex_id, subtasks, target)
        roles: dict[Role, list[int]] = {}
        for index, producers in places.items():
            roles.setdefault(self._role(consumer, index, producers, least), []).append(index)
        hot = roles.get("origin", [])
        mixed = roles.get("mixed", [])
        unknown = roles.get("unknown", [])
        passes, lacks_data, held_by_unknown = "held" in roles, bool(unknown), False
        if mixed:
            next_holders = self._holders_of_mixed(target, mixed)
            if next_holders.origins or next_holders.passing:
                # Consumers that hold these subtasks for part of the time hold them all.
                passes, hot = True, []
            elif next_holders.unknown or next_holders.rivals:
                lacks_data = held_by_unknown = True
            else:
                busy = [index for index in mixed if self._is_busy(consumer, index, least)]
                hot = hot + busy
                lacks_data = lacks_data or any(
                    _works(consumer, index, least.origin) is not False
                    for index in mixed
                    if index not in busy
                )
        if passes:
            holders.passing.append(target)
        if hot:
            possible.append(self._origin(target, consumer, sorted(hot), unknown))
            # The producer may wait for unknown subtasks, and these for a vertex downstream.
            lacks_data = held_by_unknown or self._could_be_held(target, unknown, least)
        if lacks_data and not passes:
            holders.unknown.append(target)

    def _could_be_held(self, vertex_id: str, unknown: Sequence[int], least: LeastWork) -> bool:
        if not unknown:
            return False
        for target in self._topology.downstream(vertex_id):
            consumer = self._vertices.get(target)
            if consumer is None:
                return True
            reached = self._reachable(vertex_id, unknown, target)
            if any(
                self._role(consumer, index, producers, least) != "free"
                for index, producers in reached.items()
            ):
                return True
        return False

    def _decide(self, holders: Holders, possible: list[Origin]) -> None:
        """A full input proves an origin. Otherwise only the busiest vertex can be one."""
        holders.origins = [origin for origin in possible if origin.full_input]
        unproven = [origin for origin in possible if not origin.full_input]
        if not unproven or holders.origins:
            return
        unproven.sort(key=lambda origin: -origin.working)
        is_clear = all(
            unproven[0].working - origin.working_at_most >= SLACK for origin in unproven[1:]
        )
        if is_clear and not holders.passing and not holders.unknown:
            holders.origins = unproven[:1]
        elif not holders.passing:
            holders.rivals = [origin.vertex_id for origin in unproven]

    def _holders_of_mixed(self, vertex_id: str, mixed: Sequence[int]) -> Holders:
        if vertex_id in self._unfinished or len(self._unfinished) >= DEEPEST:
            return Holders(unknown=[vertex_id])
        key = (vertex_id, tuple(mixed))
        if key not in self.partly_held:
            self._unfinished.add(vertex_id)
            vertex = self._vertices[vertex_id]
            waits = typical(map(vertex.backpressured, mixed)) or 0.0
            works = typical(map(vertex.working, mixed)) or waits
            holders = self.holders(vertex_id, mixed, LeastWork(waits - SLACK, works - SLACK))
            self._unfinished.discard(vertex_id)
            self.partly_held[key] = holders
        return self.partly_held[key]

    def _role(self, consumer: Subtasks, index: int, producers: Places, least: LeastWork) -> Role:
        limits = self.limits
        busy = consumer.busy(index)
        backpressured = consumer.backpressured(index)
        working = consumer.working(index)
        if backpressured is not None and backpressured >= limits[BACKPRESSURED]:
            return "held"
        hardly_waits = backpressured is not None and backpressured < OWN_BACKPRESSURE
        if working is not None and working < (least.origin if hardly_waits else least.passing):
            return "free"
        is_empty = least.empty_clears and consumer.has_empty_input(
            index, EMPTY_INPUT / consumer.gates
        )
        if is_empty and _has_remote_channels(consumer, index, producers):
            return "free"
        if backpressured is None:
            works_at_most = 1.0 if working is None else working
            waits_at_most = 1.0 if busy is None else works_at_most - busy
            return (
                "origin"
                if waits_at_most < OWN_BACKPRESSURE and self._is_busy(consumer, index, least)
                else "unknown"
            )
        if not hardly_waits:
            return "mixed"
        return "origin" if self._is_busy(consumer, index, least) else "unknown"

    def _is_busy(self, consumer: Subtasks, index: int, least: LeastWork) -> bool:
        busy = consumer.busy(index)
        if _works(consumer, index, least.origin) is False:
            return False
        return (
            (consumer.input_level(index) or 0.0) >= self._full_level(consumer)
            if busy is None
            else busy >= self.limits[BUSY]
        )

    def _origin(
        self, vertex_id: str, consumer: Subtasks, hot: list[int], unknown: Sequence[int]
    ) -> Origin:
        full_level = self._full_level(consumer)
        proven = any((consumer.input_level(index) or 0.0) >= full_level for index in hot)
        working = max(consumer.working(index) or consumer.busy(index) or 0.0 for index in hot)
        at_most = max(
            (1.0 if (work := consumer.working(index)) is None else work for index in unknown),
            default=0.0,
        )
        measured = all(consumer.busy(index) is not None for index in hot)
        return Origin(vertex_id, tuple(hot), proven, measured, working, max(working, at_most))

    def _full_level(self, consumer: Subtasks) -> float:
        # One full gate fills its share of the whole input. Usual traffic fills up to a quarter.
        return max(0.25, FULL_INPUT / consumer.gates)

    def _reachable(self, vertex_id: str, subtasks: Sequence[int], target: str) -> dict[int, Places]:
        """Subtask of ``target`` that gets records of ``subtasks`` → their places."""
        producer, consumer = self._vertices[vertex_id], self._vertices[target]
        reached: dict[int, Places] = {}
        for edge in self._topology.out_edges.get(vertex_id, ()):
            if edge.target != target:
                continue
            by_consumer: dict[int, frozenset[str | None]] = {}
            if is_pointwise(edge, producer.parallelism, consumer.parallelism):
                for subtask in subtasks:
                    place = frozenset((producer.taskmanager(subtask),))
                    for index in consumers(
                        edge, subtask, producer.parallelism, consumer.parallelism
                    ):
                        by_consumer[index] = by_consumer.get(index, frozenset()) | place
            else:
                all_places = frozenset(producer.taskmanager(subtask) for subtask in subtasks)
                by_consumer = dict.fromkeys(
                    consumers(edge, 0, producer.parallelism, consumer.parallelism), all_places
                )
            for index, places in by_consumer.items():
                reached[index] = (*reached.get(index, ()), places)
        return reached


def _works(consumer: Subtasks, index: int, least: float) -> bool | None:
    working = consumer.working(index)
    return None if working is None else working >= least


def _has_remote_channels(consumer: Subtasks, index: int, places: Places) -> bool:
    """Whether a backlog would show: each edge has a producer in another TaskManager."""
    taskmanager = consumer.taskmanager(index)
    return taskmanager is not None and all(
        any(producer is not None and producer != taskmanager for producer in edge)
        for edge in places
    )
