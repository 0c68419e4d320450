"""Origins of back-pressure in one window. The walk goes downstream from every held (back-pressured)
vertex until an origin explains why it waits.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.messages import message
from spark_jobs.diagnosis.findings import Limits
from spark_jobs.diagnosis.last_result import caches_last_result
from spark_jobs.diagnosis.pressure import (
    Subtasks,
    held_subtasks,
    largest,
    output_bounds,
    typical,
    value,
)
from spark_jobs.diagnosis.pressure_walk import (
    BACKPRESSURED,
    BUSY,
    OWN_BACKPRESSURE,
    Holders,
    LeastWork,
    Origin,
    Walk,
)
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.topology import POINTWISE, Topology

NO_METRICS = message("metrics of any vertex in this window")
OUTPUT_LEVEL = "pressure.outbound.output_level"
REPORTING_SHARE = 0.5
"""If fewer subtasks report, a consumer might hold the others."""


@dataclass(frozen=True)
class HeldVertex:
    """Subtasks that wait for most of the window; ``ratio``: the median of their shares."""

    vertex_id: str
    subtasks: tuple[int, ...]
    ratio: float


Way = tuple[HeldVertex, tuple[str, ...]]
"""A held vertex, and the ids from it to an origin, both included."""


@dataclass(frozen=True)
class Outbound:
    """A held vertex whose consumers all have time to spare. ``usage``: of its fullest output, which
    is ``floor`` if idle and ``ceiling`` with one hot channel.
    """

    held: HeldVertex
    usage: float
    floor: float
    ceiling: float

    def usage_at(self, level: float) -> float:
        """``level``: 0 is the floor, 1 the ceiling."""
        return self.floor + level * (self.ceiling - self.floor)


@dataclass(slots=True)
class Pressure:
    """Mappings are by vertex id. ``roots``: origins. ``unexplained``: held vertex → consumers with
    too little data. ``unjudged``: vertices that did not report back-pressure although a consumer
    could hold them. ``_next``: the vertices that hold a vertex.
    """

    topology: Topology
    vertices: dict[str, Subtasks]
    held: dict[str, HeldVertex] = field(default_factory=dict)
    roots: dict[str, Origin] = field(default_factory=dict)
    outbound: dict[str, Outbound] = field(default_factory=dict)
    unexplained: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()
    _next: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _paths: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def origins_of(self, vertex_id: str) -> tuple[tuple[str, ...], ...]:
        """Paths of ids from this held vertex to its origins, the shortest first. A vertex that is
        its own origin has a path of one.
        """
        if vertex_id not in self._paths:
            self._paths[vertex_id] = tuple(self._paths_from(vertex_id))
        return self._paths[vertex_id]

    def _paths_from(self, vertex_id: str) -> Iterator[tuple[str, ...]]:
        if vertex_id in self.outbound:
            yield (vertex_id,)
            return
        if vertex_id in self._next.get(vertex_id, ()):
            yield (vertex_id,)
        reached: set[str] = {vertex_id}
        waiting: deque[tuple[str, ...]] = deque(((vertex_id,),))
        while waiting:
            path = waiting.popleft()
            for target in self._next.get(path[-1], ()):
                if target in reached:
                    continue
                reached.add(target)
                next_path = (*path, target)
                if target in self.roots or target in self.outbound:
                    yield next_path
                if target not in self.outbound:
                    # Other subtasks of an origin may be held by the next origin.
                    waiting.append(next_path)

    def ways_to(self, origin_id: str) -> list[Way]:
        ways = [
            (held, path)
            for vertex_id, held in self.held.items()
            for path in self.origins_of(vertex_id)
            if len(path) > 1 and path[-1] == origin_id
        ]
        return sorted(ways, key=lambda way: -len(way[1]))


WindowAndLimits = tuple[JobWindow, Limits]


def pressure_of(window: JobWindow, limits: Limits) -> Pressure:
    return _pressure((window, limits))


def _has_same_pressure(last: WindowAndLimits, new: WindowAndLimits) -> bool:
    names = ("vertex_windows", "vertices", "edges", "checkpoints", "terminal", "flink_version")
    (window, limits), (last_window, last_limits) = new, last
    return limits is last_limits and all(
        getattr(window, name) is getattr(last_window, name) for name in names
    )


@caches_last_result(_has_same_pressure)
def _pressure(key: WindowAndLimits) -> Pressure:
    window, limits = key
    least_ratio = limits[BACKPRESSURED]
    silent = {} if window.terminal else _silent_subtasks(window)
    held = {}
    for vertex in window.vertex_windows:
        if subtasks := held_subtasks(vertex, least_ratio):
            ratio = typical(vertex.backpressured_ratio[index] for index in subtasks) or 0.0
            held[vertex.vertex_id] = HeldVertex(vertex.vertex_id, tuple(subtasks), ratio)
    if not held and not silent:
        return Pressure(Topology(()), {})
    topology = Topology(window.edges)
    pressure = Pressure(topology, _subtasks(window, topology), held)
    walk = Walk(topology, pressure.vertices, limits)
    for held_vertex in held.values():
        _explain(
            pressure,
            held_vertex,
            walk.holders_of_held(held_vertex.vertex_id, held_vertex.subtasks, held_vertex.ratio),
            limits,
            _aligns(window, least_ratio),
        )
    for (vertex_id, _), holders in walk.partly_held.items():
        _add_holders(pressure, vertex_id, holders)
    pressure.unjudged = tuple(
        vertex_id
        for vertex_id, subtasks in silent.items()
        if vertex_id not in held and _may_be_held(pressure, vertex_id, subtasks, walk)
    )
    return pressure


def _silent_subtasks(window: JobWindow) -> dict[str, list[int] | None]:
    """Vertex → its subtasks that did not report back-pressure, None for all."""
    silent: dict[str, list[int] | None] = {}
    reported = set()
    for vertex in window.vertex_windows:
        reported.add(vertex.vertex_id)
        ratios = vertex.backpressured_ratio
        size = max(vertex.parallelism or 1, len(ratios))
        if None in ratios or len(ratios) < size:
            silent[vertex.vertex_id] = [
                index for index in range(size) if value(ratios, index) is None
            ]
    if len(reported) < len(window.vertices):
        silent.update(
            (vertex.vertex_id, None)
            for vertex in window.vertices
            if vertex.vertex_id not in reported
        )
    return silent


def _subtasks(window: JobWindow, topology: Topology) -> dict[str, Subtasks]:
    is_before_1_13 = (
        all(busy is None for vertex in window.vertex_windows for busy in vertex.busy_ratio)
        if window.version is None
        else window.version < (1, 13)
    )
    return {
        vertex.vertex_id: Subtasks(
            vertex,
            gates=len(topology.in_edges.get(vertex.vertex_id, ())),
            idle_has_backpressure=is_before_1_13,
        )
        for vertex in window.vertex_windows
    }


def _add_holders(pressure: Pressure, vertex_id: str, holders: Holders) -> None:
    for origin in holders.origins:
        previous = pressure.roots.get(origin.vertex_id)
        pressure.roots[origin.vertex_id] = origin if previous is None else _merge(previous, origin)
    next_ids = (*(origin.vertex_id for origin in holders.origins), *holders.passing)
    pressure._next[vertex_id] = tuple(
        dict.fromkeys((*pressure._next.get(vertex_id, ()), *next_ids))
    )


def _merge(origin: Origin, other: Origin) -> Origin:
    return Origin(
        origin.vertex_id,
        tuple(sorted({*origin.subtasks, *other.subtasks})),
        origin.full_input or other.full_input,
        origin.measured and other.measured,
        max(origin.working, other.working),
        max(origin.working_at_most, other.working_at_most),
        origin.agrees or other.agrees,
    )


def _explain(
    pressure: Pressure, held: HeldVertex, holders: Holders, limits: Limits, is_aligning: bool
) -> None:
    _add_holders(pressure, held.vertex_id, holders)
    if holders.origins or holders.passing:
        return
    consumers = tuple(dict.fromkeys((*holders.unknown, *holders.rivals)))
    if consumers or held.vertex_id not in pressure.topology.out_edges:
        pressure.unexplained[held.vertex_id] = consumers
        return
    has_free_consumers = _has_free_consumers(pressure, held.vertex_id, limits)
    outbound = _outbound(pressure, held) if has_free_consumers else None
    if outbound is not None and outbound.usage > outbound.usage_at(limits[OUTPUT_LEVEL]):
        if is_aligning and (late_origin := _late_siblings(pressure, held, limits)):
            _add_holders(pressure, held.vertex_id, Holders(origins=[late_origin]))
        else:
            pressure.outbound[held.vertex_id] = outbound
    else:
        pressure.unexplained[held.vertex_id] = ()


def _aligns(window: JobWindow, least_ratio: float) -> bool:
    """Whether tasks aligned barriers during most of this window: they then read no channel whose
    barrier has come.
    """
    alignment_ms = 0
    for checkpoint in window.checkpoints:
        if checkpoint.unaligned:
            continue
        ended_ms = checkpoint.end_time_ms or window.at_ms
        began_ms = checkpoint.trigger_time_ms
        if checkpoint.alignment_ms is not None and checkpoint.end_time_ms:
            began_ms = ended_ms - checkpoint.alignment_ms
        alignment_ms += max(min(ended_ms, window.at_ms) - max(began_ms, window.window_start_ms), 0)
    return alignment_ms >= least_ratio * (window.at_ms - window.window_start_ms) > 0


def _late_siblings(pressure: Pressure, held: HeldVertex, limits: Limits) -> Origin | None:
    """Subtasks of the held vertex that are busy and never wait. Tasks downstream wait for their
    barriers, and meanwhile take nothing from the held subtasks.
    """
    subtasks = pressure.vertices[held.vertex_id]
    working = {
        index: busy
        for index in range(subtasks.parallelism)
        if (busy := subtasks.busy(index)) is not None
        and busy >= limits[BUSY]
        and (subtasks.backpressured(index) or 0.0) < OWN_BACKPRESSURE
    }
    if not working:
        return None
    most = max(working.values())
    return Origin(
        held.vertex_id,
        tuple(working),
        full_input=False,
        measured=True,
        working=most,
        working_at_most=most,
    )


def _has_free_consumers(pressure: Pressure, vertex_id: str, limits: Limits) -> bool:
    targets = (pressure.vertices[target] for target in pressure.topology.downstream(vertex_id))
    return all(
        _is_free(target, index, limits) for target in targets for index in range(target.parallelism)
    )


def _is_free(subtasks: Subtasks, index: int, limits: Limits) -> bool:
    busy, waits = subtasks.busy(index), subtasks.backpressured(index)
    if busy is None or waits is None:
        working = subtasks.working(index)
        return working is not None and working < limits[BUSY]
    return busy < limits[BUSY] and waits < limits[BACKPRESSURED]


def _outbound(pressure: Pressure, held: HeldVertex) -> Outbound | None:
    producer = pressure.vertices[held.vertex_id]
    edges = pressure.topology.out_edges[held.vertex_id]
    bounds = output_bounds(
        edges, producer.parallelism, [pressure.vertices[edge.target].parallelism for edge in edges]
    )
    usage = largest(value(producer.window.out_pool_usage, index) for index in held.subtasks)
    return None if bounds is None or usage is None else Outbound(held, usage, *bounds)


def _may_be_held(
    pressure: Pressure, vertex_id: str, subtasks: list[int] | None, walk: Walk
) -> bool:
    """Whether subtasks that did not report could be waiting. Over an all-to-all edge a consumer
    holds all subtasks or none: none, if most siblings reported that they do not wait.
    """
    limits = walk.limits
    if subtasks is None:
        return any(
            _may_work(pressure.vertices.get(target), limits)
            for target in pressure.topology.downstream(vertex_id)
        )
    holders = walk.holders(
        vertex_id, subtasks, LeastWork(limits[BUSY], limits[BUSY], empty_clears=False)
    )
    if holders.origins or holders.passing or holders.rivals:
        return True
    mostly_silent = len(subtasks) > (1 - REPORTING_SHARE) * pressure.vertices[vertex_id].parallelism
    edges = pressure.topology.out_edges.get(vertex_id, ())
    return any(
        edge.target in holders.unknown and (mostly_silent or edge.ship_strategy in POINTWISE)
        for edge in edges
    )


def _may_work(consumer: Subtasks | None, limits: Limits) -> bool:
    if consumer is None:
        return True
    return any(
        (working := consumer.working(index)) is None or working >= limits[BUSY]
        for index in range(consumer.parallelism)
    )
