"""Jobs that Flink could run, with one planted bottleneck, and what every metric of them would show.

A fluid model of credit-based flow control, written from Flink's behaviour and not from the rules:

* While the origin's hot subtasks are overloaded they are busy all the time. Every producer subtask
  with a channel to one of them runs out of output buffers and waits whenever it is not busy; so
  does whoever feeds that producer, up to the sources, unless that feeder sends only a trickle,
  which a fair reader takes without delay.
* Whatever is neither hot nor waiting has time to spare, though perhaps not much.
* The overload lasts for a part of the window; for the rest of it the load is lighter and nobody
  waits. Metrics are means over both.
* A backlog fills the buffers of its own channels and takes the floating ones of its gate. Channels
  inside one TaskManager have no buffers on the input side. An idle output channel keeps one buffer,
  a blocked one up to ten.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from spark_jobs.diagnosis.samples import Edge, JobWindow, Vertex, VertexWindow

POINTWISE = ("FORWARD", "RESCALE")
ALL_TO_ALL = ("HASH", "REBALANCE", "BROADCAST", "CUSTOM")
AT_MS = 1_795_000_020_000
EXCLUSIVE, FLOATING, PER_CHANNEL = 2, 8, 10
MOST_SUBTASKS = 20_000
"""Of one job: what a test can afford, still with vertices of 5,000."""


@dataclass
class Job:
    """``hot`` and ``waiting`` are subtask indexes; a trickling edge never makes its producer
    wait.
    """

    parallelism: list[int]
    edges: list[tuple[int, int, str]]
    origin: int | None = None
    hot: frozenset[int] = frozenset()
    trickling: set[int] = field(default_factory=set)
    waiting: list[set[int]] = field(default_factory=list)

    @property
    def sources(self) -> list[int]:
        fed = {target for _source, target, _strategy in self.edges}
        return [vertex for vertex in range(len(self.parallelism)) if vertex not in fed]


def random_job(chance: Random, vertices: int, most_parallel: int) -> Job:
    """Any acyclic shape: chains, fans, joins, side outputs, several components."""
    budget = MOST_SUBTASKS
    parallelism: list[int] = []
    for left in range(vertices, 0, -1):
        one = min(round(most_parallel ** chance.random()), max(1, budget - left))
        if parallelism and chance.random() < 0.5 and parallelism[-1] <= budget - left:
            one = parallelism[-1]
        parallelism.append(one)
        budget -= one
    edges = []
    for target in range(1, vertices):
        if target > 1 and chance.random() < 0.15:
            continue  # another source
        for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
            nearest = max(0, target - chance.choice((1, 1, 2, 5, target)))
            source = chance.randint(nearest, target - 1)
            equal = parallelism[source] == parallelism[target]
            edges.append(
                (
                    source,
                    target,
                    chance.choice(("FORWARD", *ALL_TO_ALL) if equal else ("RESCALE", *ALL_TO_ALL)),
                )
            )
    return Job(parallelism, edges)


def plant(chance: Random, job: Job) -> bool:
    """Overload some subtasks of one vertex with an upstream; False where no vertex has one."""
    fed = sorted({target for _source, target, _strategy in job.edges})
    if not fed:
        return False
    job.origin = chance.choice(fed)
    size = job.parallelism[job.origin]
    few = chance.choice((size, size, 1, max(1, size // 3)))
    job.hot = frozenset(chance.sample(range(size), few))
    inputs: dict[int, list[int]] = {}
    for index, (_source, target, _strategy) in enumerate(job.edges):
        inputs.setdefault(target, []).append(index)
    for into in inputs.values():
        if len(into) > 1:
            keeps = chance.choice(into)
            job.trickling.update(edge for edge in into if edge != keeps and chance.random() < 0.3)
    _spread_waiting(job)
    return True


def _spread_waiting(job: Job) -> None:
    job.waiting = [set() for _ in job.parallelism]
    # Edges lead from lower to higher vertices, so that going down from the end meets every consumer
    # before its producers.
    for target in range(len(job.parallelism) - 1, 0, -1):
        blocked = job.waiting[target] | (job.hot if target == job.origin else set())
        if not blocked:
            continue
        for index, (source, into, strategy) in enumerate(job.edges):
            if into == target and index not in job.trickling:
                job.waiting[source] |= writers(job, source, target, strategy, blocked)


def writers(
    job: Job, source: int, target: int, strategy: str, consumers: set[int] | frozenset[int]
) -> set[int]:
    """Producer subtasks with a channel to any of these consumers."""
    producers = job.parallelism[source]
    if strategy not in POINTWISE:
        return set(range(producers))
    return {
        producer
        for consumer in consumers
        for producer in feeding(consumer, producers, job.parallelism[target])
    }


def feeding(consumer: int, producers: int, consumers: int) -> range:
    """Producers of one consumer over a pointwise edge, as Flink's scheduler connects them."""
    if producers >= consumers:
        return range(consumer * producers // consumers, (consumer + 1) * producers // consumers)
    return range(
        *next(
            (p, p + 1)
            for p in range(consumer * producers // consumers, producers)
            if consumer in _fed(p, producers, consumers)
        )
    )


def _fed(producer: int, producers: int, consumers: int) -> range:
    start = (producer * consumers + producers - 1) // producers
    return range(start, ((producer + 1) * consumers + producers - 1) // producers)


@dataclass(frozen=True)
class Weather:
    """How the job ran and was looked at. ``overloaded``: part of the window.

    ``nearly``: how busy other vertices may be at most; ``crowded``: the share of them that may be.
    """

    overloaded: float = 1.0
    nearly: float = 0.85
    crowded: float = 0.3
    noise: float = 0.02
    taskmanagers: int = 4
    scattered: bool = False
    before_1_13: bool = False


def observed(chance: Random, job: Job, weather: Weather) -> JobWindow:
    """The window that Weir would see, with nothing missing."""
    placed = [_places(chance, size, weather) for size in job.parallelism]
    lighter = chance.uniform(0.3, 0.9)
    tops = [
        chance.uniform(0.02, weather.nearly if chance.random() < weather.crowded else 0.4)
        for _ in job.parallelism
    ]
    if job.origin is not None:
        _make_somebody_wait_long(chance, job, tops)
    windows = tuple(
        _vertex(chance, job, weather, vertex, tops[vertex], lighter, placed)
        for vertex in range(len(job.parallelism))
    )
    return JobWindow(
        cluster="lab",
        job_id="planted",
        at_ms=AT_MS,
        window_start_ms=AT_MS - 60_000,
        job_name="planted",
        state="RUNNING",
        version=(1, 12, 7) if weather.before_1_13 else (1, 20, 5),
        vertices=tuple(
            Vertex(vertex_id(index), f"operator {index}", size)
            for index, size in enumerate(job.parallelism)
        ),
        edges=tuple(
            Edge(vertex_id(source), vertex_id(target), strategy)
            for source, target, strategy in job.edges
        ),
        vertex_windows=windows,
    )


def vertex_id(index: int) -> str:
    return f"{index:032x}"


def _make_somebody_wait_long(chance: Random, job: Job, tops: list[float]) -> None:
    """At least one feeder of the origin is much faster than it, or else nobody waits for the larger
    part of a window.
    """
    feeders = [
        source
        for edge, (source, target, _s) in enumerate(job.edges)
        if target == job.origin and edge not in job.trickling
    ]
    tops[chance.choice(feeders)] = chance.uniform(0.02, 0.1)


def _places(chance: Random, size: int, weather: Weather) -> tuple[str, ...]:
    """Slots are shared: subtask i of every vertex usually runs beside the i-th of the others."""
    if weather.scattered:
        return tuple(f"tm-{chance.randrange(weather.taskmanagers)}" for _ in range(size))
    return tuple(f"tm-{index % weather.taskmanagers}" for index in range(size))


def _vertex(
    chance: Random,
    job: Job,
    weather: Weather,
    vertex: int,
    top: float,
    lighter: float,
    placed: Sequence[tuple[str, ...]],
) -> VertexWindow:
    size = job.parallelism[vertex]
    waiting = job.waiting[vertex] if job.waiting else set()
    hot = job.hot if vertex == job.origin else frozenset()
    share = weather.overloaded
    busy, waits = [], []
    for subtask in range(size):
        works = 1.0 if subtask in hot else top * chance.uniform(0.8, 1.0)
        busy.append(works * (share + (1 - share) * lighter))
        waits.append((1 - works) * share if subtask in waiting and subtask not in hot else 0.0)
    measured_busy = [_noisy(chance, value, weather) for value in busy]
    # A snapshot or a full output for an instant makes anybody wait now and then.
    measured_waits = [
        _noisy(chance, value, weather) if value else chance.uniform(0.0, weather.noise)
        for value in waits
    ]
    idle = [
        max(0.0, 1 - b - (0.0 if weather.before_1_13 else w))
        for b, w in zip(measured_busy, measured_waits, strict=True)
    ]
    inputs = _inputs(chance, job, weather, vertex, waiting | hot, placed)
    rates = tuple(1000.0 * value / size for value in busy)
    is_source = vertex in job.sources
    return VertexWindow(
        vertex_id=vertex_id(vertex),
        parallelism=size,
        samples=2,
        busy_ratio=() if weather.before_1_13 else tuple(measured_busy),
        backpressured_ratio=tuple(measured_waits),
        idle_ratio=tuple(idle),
        in_pool_usage=tuple(total for total, _exclusive, _floating in inputs),
        floating_usage=tuple(floating for _total, _exclusive, floating in inputs),
        out_pool_usage=_outputs(chance, job, weather, vertex, waiting),
        records_in_per_s=(0.0,) * size if is_source else rates,
        records_out_per_s=rates,
        host=tuple(f"host-{place}" for place in placed[vertex]),
        taskmanager_id=placed[vertex],
    )


def _noisy(chance: Random, value: float, weather: Weather) -> float:
    return min(1.0, max(0.0, value + chance.uniform(-weather.noise, weather.noise)))


def _inputs(
    chance: Random,
    job: Job,
    weather: Weather,
    vertex: int,
    blocked: set[int] | frozenset[int],
    placed: Sequence[tuple[str, ...]],
) -> list[tuple[float, float, float]]:
    """(all, exclusive, floating) buffers in use by subtask: a gate per edge, buffers for remote
    channels only.
    """
    gates = [
        (index, source, strategy)
        for index, (source, target, strategy) in enumerate(job.edges)
        if target == vertex
    ]
    by_place = {index: _count_by_place(job, source, placed) for index, source, _strategy in gates}
    usages = []
    for subtask, place in enumerate(placed[vertex]):
        remote = backlogged = queues = 0
        for index, source, strategy in gates:
            far, far_waiting = _far(
                job, source, vertex, strategy, subtask, place, placed, by_place[index]
            )
            remote += far
            if subtask in blocked and index not in job.trickling and far_waiting:
                backlogged += far_waiting
                queues += 1
        share = weather.overloaded
        passing = chance.uniform(0, 0.1) if remote else 0.0
        floating_pool = FLOATING * len(gates)
        total = (
            (EXCLUSIVE * backlogged + FLOATING * queues) / (EXCLUSIVE * remote + floating_pool)
            if remote
            else 0.0
        )
        exclusive = backlogged / remote if remote else 0.0
        floating = queues / len(gates) if gates and remote else 0.0
        usages.append(
            tuple(min(1.0, max(passing, usage * share)) for usage in (total, exclusive, floating))
        )
    return usages


def _count_by_place(
    job: Job, source: int, placed: Sequence[tuple[str, ...]]
) -> dict[str, tuple[int, int]]:
    """TaskManager → (producer subtasks there, those of them that wait)."""
    counts: dict[str, tuple[int, int]] = {}
    waiting = job.waiting[source] if job.waiting else set()
    for subtask, place in enumerate(placed[source]):
        every, waits = counts.get(place, (0, 0))
        counts[place] = (every + 1, waits + (subtask in waiting))
    return counts


def _far(
    job: Job,
    source: int,
    target: int,
    strategy: str,
    consumer: int,
    place: str,
    placed: Sequence[tuple[str, ...]],
    by_place: dict[str, tuple[int, int]],
) -> tuple[int, int]:
    """Remote channels into one consumer, and how many of their producers wait."""
    if strategy in POINTWISE:
        producers = [
            p
            for p in feeding(consumer, job.parallelism[source], job.parallelism[target])
            if placed[source][p] != place
        ]
        waiting = job.waiting[source] if job.waiting else set()
        return len(producers), sum(p in waiting for p in producers)
    every = sum(count for count, _waits in by_place.values())
    waits = sum(count for _every, count in by_place.values())
    here, waits_here = by_place.get(place, (0, 0))
    return every - here, waits - waits_here


def _outputs(
    chance: Random, job: Job, weather: Weather, vertex: int, waiting: set[int]
) -> tuple[float, ...]:
    """Buffers in use over those of all output pools: one kept for every idle channel, up to ten
    behind a blocked one.
    """
    outs = [(target, strategy) for source, target, strategy in job.edges if source == vertex]
    if not outs:
        return (0.0,) * job.parallelism[vertex]
    channels = []
    for target, strategy in outs:
        consumers = job.parallelism[target]
        channels.append(
            max(1, -(-consumers // job.parallelism[vertex])) if strategy in POINTWISE else consumers
        )
    pool = sum(2 * count + FLOATING for count in channels)
    kept = sum(channels)
    full = min(pool, kept + (PER_CHANNEL - 1))
    usages = []
    for subtask in range(job.parallelism[vertex]):
        lifted = full if subtask in waiting else kept
        usages.append((lifted * weather.overloaded + kept * (1 - weather.overloaded)) / pool)
    return tuple(usages)


def with_gaps(chance: Random, window: JobWindow, share: float) -> JobWindow:
    """The same window with about this share of vertices, metrics and subtasks unreported."""
    kept = []
    for vertex in window.vertex_windows:
        if chance.random() < share / 2:
            continue
        kept.append(
            replace(
                vertex,
                **{name: _with_holes(chance, getattr(vertex, name), share) for name in METRICS},
                **({"host": (), "taskmanager_id": ()} if chance.random() < share else {}),
            )
        )
    return replace(window, vertex_windows=tuple(kept))


def with_silent_subtasks(chance: Random, window: JobWindow, share: float) -> JobWindow:
    """The same window with about this share of subtasks not reporting at all."""
    return _without(window, lambda _vertex, _subtask: chance.random() < share)


def with_silent_taskmanagers(chance: Random, window: JobWindow, share: float) -> JobWindow:
    """The same window with about this share of TaskManagers not reporting at all."""
    every = sorted(
        {place for vertex in window.vertex_windows for place in vertex.taskmanager_id if place}
    )
    silent = {place for place in every if chance.random() < share}
    return _without(window, lambda vertex, subtask: vertex.taskmanager_id[subtask] in silent)


def _without(window: JobWindow, is_silent: Callable[[VertexWindow, int], bool]) -> JobWindow:
    kept = []
    for vertex in window.vertex_windows:
        silent = [is_silent(vertex, subtask) for subtask in range(vertex.parallelism or 0)]
        if not all(silent):
            told = {
                name: zip(getattr(vertex, name), silent, strict=False)
                for name in (*METRICS, "host", "taskmanager_id")
            }
            kept.append(
                replace(
                    vertex,
                    **{
                        name: tuple(None if gone else one for one, gone in pairs)
                        for name, pairs in told.items()
                    },
                )
            )
    return replace(window, vertex_windows=tuple(kept))


METRICS = (
    "busy_ratio",
    "backpressured_ratio",
    "idle_ratio",
    "in_pool_usage",
    "out_pool_usage",
    "floating_usage",
    "records_in_per_s",
    "records_out_per_s",
)


def _with_holes(
    chance: Random, values: tuple[float | None, ...], share: float
) -> tuple[float | None, ...]:
    kind = chance.random()
    if kind < share / 2:
        return ()
    if kind < share:
        return tuple(None if chance.random() < 0.3 else value for value in values)
    return values
