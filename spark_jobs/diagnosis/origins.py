"""Origins of back-pressure of one job in one window: every held vertex is followed downstream until
something explains it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.messages import message
from spark_jobs.diagnosis.findings import Limits, NotJudged
from spark_jobs.diagnosis.last_result import caches_last_result
from spark_jobs.diagnosis.pressure import Subtasks, held_subtasks, output_bounds, typical, value
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
REPORTING_SHARE = 0.5
"""With fewer subtasks that report, a consumer could also be back-pressuring the others."""


@dataclass(frozen=True)
class Held:
    """Subtasks back-pressured for the larger part; ``ratio``: the median over them."""

    vertex_id: str
    subtasks: tuple[int, ...]
    ratio: float


Way = tuple[Held, tuple[str, ...]]
"""A held vertex and the path of vertex ids from it to an origin, both included."""


@dataclass(frozen=True)
class Outbound:
    """A held vertex whose every consumer has time to spare.

    ``usage`` is its fullest held output, on a scale from the idle ``floor`` to the ``ceiling`` of
    one hot channel.
    """

    held: Held
    usage: float
    floor: float
    ceiling: float


@dataclass(slots=True)
class Pressure:
    """``roots`` and ``outbound`` by vertex id; ``unexplained``: held vertex → consumers with too
    little data. ``unjudged``: vertices that did not report back-pressure although a consumer could
    hold them.
    """

    topology: Topology
    vertices: dict[str, Subtasks]
    held: dict[str, Held] = field(default_factory=dict)
    roots: dict[str, Origin] = field(default_factory=dict)
    outbound: dict[str, Outbound] = field(default_factory=dict)
    unexplained: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()
    _next: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _paths: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def origins_of(self, vertex_id: str) -> tuple[tuple[str, ...], ...]:
        """Paths of vertex ids from this held vertex to each of its origins, the shortest first; of
        one vertex if it is its own origin.
        """
        if vertex_id not in self._paths:
            self._paths[vertex_id] = tuple(self._walk(vertex_id))
        return self._paths[vertex_id]

    def _walk(self, vertex_id: str) -> Iterator[tuple[str, ...]]:
        if vertex_id in self.outbound:
            yield (vertex_id,)
            return
        if vertex_id in self._next.get(vertex_id, ()):
            yield (vertex_id,)
        seen: set[str] = {vertex_id}
        waiting: deque[tuple[str, ...]] = deque(((vertex_id,),))
        while waiting:
            path = waiting.popleft()
            for following in self._next.get(path[-1], ()):
                if following in seen:
                    continue
                seen.add(following)
                longer = (*path, following)
                if following in self.roots or following in self.outbound:
                    yield longer
                if following not in self.outbound:
                    # A root with other held subtasks leads to the next origin.
                    waiting.append(longer)

    def ways_to(self, origin_id: str) -> list[Way]:
        ways = [
            (held, path)
            for vertex_id, held in self.held.items()
            for path in self.origins_of(vertex_id)
            if len(path) > 1 and path[-1] == origin_id
        ]
        return sorted(ways, key=lambda way: -len(way[1]))

    def held_by(self, origin_id: str) -> list[Held]:
        return [held for held, _path in self.ways_to(origin_id)]

    def paths_to(self, origin_id: str) -> list[tuple[str, ...]]:
        """Without those that are part of a longer one, the longest first."""
        passed: set[str] = set()
        kept = []
        for _held, path in self.ways_to(origin_id):
            if path[0] not in passed:
                kept.append(path)
            passed.update(path)
        return kept


WindowAndLimits = tuple[JobWindow, Limits]


def pressure_of(window: JobWindow, limits: Limits) -> Pressure:
    """Raises NotJudged if no vertex of a running job reported anything in this window."""
    pressure = _pressure((window, limits))
    if isinstance(pressure, str):
        raise NotJudged(pressure)
    return pressure


def _has_the_same_pressure(given: WindowAndLimits, last: WindowAndLimits) -> bool:
    names = ("vertex_windows", "vertices", "edges", "checkpoints", "terminal", "flink_version")
    return given[1] is last[1] and all(
        getattr(given[0], name) is getattr(last[0], name) for name in names
    )


@caches_last_result(_has_the_same_pressure)
def _pressure(given: WindowAndLimits) -> Pressure | str:
    window, limits = given
    if not window.vertex_windows:
        return Pressure(Topology(()), {}) if window.terminal else NO_METRICS
    larger_part = limits[BACKPRESSURED]
    silent = {} if window.terminal else _silent(window)
    held = {}
    for vertex in window.vertex_windows:
        if subtasks := held_subtasks(vertex, larger_part):
            ratio = typical(vertex.backpressured_ratio[index] for index in subtasks) or 0.0
            held[vertex.vertex_id] = Held(vertex.vertex_id, tuple(subtasks), ratio)
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
            _aligns(window, larger_part),
        )
    for (vertex_id, _), holders in walk.partly_held.items():
        _take(pressure, vertex_id, holders)
    pressure.unjudged = tuple(
        vertex_id
        for vertex_id, subtasks in silent.items()
        if vertex_id not in held
        and _may_be_held(pressure, vertex_id, subtasks, walk, REPORTING_SHARE)
    )
    return pressure


def _silent(window: JobWindow) -> dict[str, list[int] | None]:
    """Vertices with subtasks that did not report back-pressure → these subtasks, None if all."""
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
    before_1_13 = _is_before_1_13(window)
    return {
        vertex.vertex_id: Subtasks(
            vertex,
            gates=len(topology.in_edges.get(vertex.vertex_id, ())),
            idle_has_backpressure=before_1_13,
        )
        for vertex in window.vertex_windows
    }


def _is_before_1_13(window: JobWindow) -> bool:
    if window.version is not None:
        return window.version < (1, 13)
    return not any(
        busy is not None for vertex in window.vertex_windows for busy in vertex.busy_ratio
    )


def _take(pressure: Pressure, vertex_id: str, holders: Holders) -> None:
    for origin in holders.origins:
        known = pressure.roots.get(origin.vertex_id)
        pressure.roots[origin.vertex_id] = origin if known is None else _merge(known, origin)
    following = (*(origin.vertex_id for origin in holders.origins), *holders.passing)
    pressure._next[vertex_id] = tuple(
        dict.fromkeys((*pressure._next.get(vertex_id, ()), *following))
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
    pressure: Pressure, held: Held, holders: Holders, limits: Limits, aligns: bool
) -> None:
    _take(pressure, held.vertex_id, holders)
    if holders.origins or holders.passing:
        return
    lacking = tuple(dict.fromkeys((*holders.unknown, *holders.rivals)))
    if lacking or held.vertex_id not in pressure.topology.out_edges:
        pressure.unexplained[held.vertex_id] = lacking
        return
    outbound = _outbound(pressure, held) if _all_rest(pressure, held.vertex_id, limits) else None
    if outbound is not None and outbound.usage > _above(
        outbound, limits["pressure.outbound.output_level"]
    ):
        if aligns and (late := _late_siblings(pressure, held, limits)):
            _take(pressure, held.vertex_id, Holders(origins=[late]))
        else:
            pressure.outbound[held.vertex_id] = outbound
    else:
        pressure.unexplained[held.vertex_id] = ()


def _aligns(window: JobWindow, larger_part: float) -> bool:
    """Whether barriers were waited for during the larger part of this window: an aligned task takes
    nothing from the channels whose barrier has come.
    """
    took_ms = 0
    for checkpoint in window.checkpoints:
        if checkpoint.unaligned:
            continue
        ended_ms = checkpoint.end_time_ms or window.at_ms
        began_ms = checkpoint.trigger_time_ms
        if checkpoint.alignment_ms is not None and checkpoint.end_time_ms:
            began_ms = ended_ms - checkpoint.alignment_ms
        took_ms += max(min(ended_ms, window.at_ms) - max(began_ms, window.window_start_ms), 0)
    return took_ms >= larger_part * (window.at_ms - window.window_start_ms) > 0


def _late_siblings(pressure: Pressure, held: Held, limits: Limits) -> Origin | None:
    """Subtasks of the held vertex that are busy and never wait: theirs is the barrier that the
    tasks below wait for, while they take nothing from those that are held.
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
    return Origin(held.vertex_id, tuple(working), False, True, most, most)


def _all_rest(pressure: Pressure, vertex_id: str, limits: Limits) -> bool:
    busy, waits = limits[BUSY], limits[BACKPRESSURED]
    targets = (pressure.vertices[target] for target in pressure.topology.downstream(vertex_id))
    return all(
        _rests(target, index, busy, waits)
        for target in targets
        for index in range(target.parallelism)
    )


def _rests(subtasks: Subtasks, index: int, most_busy: float, most_waiting: float) -> bool:
    working = subtasks.working(index)
    busy = subtasks.busy(index)
    waits = subtasks.backpressured(index)
    if busy is None or waits is None:
        return working is not None and working < most_busy
    return busy < most_busy and waits < most_waiting


def _above(outbound: Outbound, level: float) -> float:
    return outbound.floor + level * (outbound.ceiling - outbound.floor)


def _outbound(pressure: Pressure, held: Held) -> Outbound | None:
    producer = pressure.vertices[held.vertex_id]
    edges = pressure.topology.out_edges[held.vertex_id]
    bounds = output_bounds(
        edges, producer.parallelism, [pressure.vertices[edge.target].parallelism for edge in edges]
    )
    usage = max(
        (
            known
            for index in held.subtasks
            if (known := value(producer.window.out_pool_usage, index)) is not None
        ),
        default=None,
    )
    return None if bounds is None or usage is None else Outbound(held, usage, *bounds)


def _may_be_held(
    pressure: Pressure,
    vertex_id: str,
    subtasks: list[int] | None,
    walk: Walk,
    reporting_share: float,
) -> bool:
    """Whether subtasks that did not report could be waiting. Over an all-to-all edge a consumer
    that holds one subtask holds all: if most siblings reported no waiting, a consumer with too
    little data is not counted.
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
    mostly_silent = len(subtasks) > (1 - reporting_share) * pressure.vertices[vertex_id].parallelism
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
