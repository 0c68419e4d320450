"""The placement rules task by task, in plain Python: what the arrays of ``spark_jobs.placement``
are held against.
"""

from collections import Counter
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Job:
    """``vertices``: (parallelism, slot group). ``edges``: (producer, consumer, is pointwise)."""

    vertices: list[tuple[int, str]]
    edges: list[tuple[int, int, bool]]


def feeders(job: Job, edge: tuple[int, int, bool], consumer: int) -> list[int]:
    """Subtasks of the producer that one subtask of the consumer reads, as Flink connects them."""
    source, target, pointwise = edge
    up, down = job.vertices[source][0], job.vertices[target][0]
    if not pointwise:
        return list(range(up))
    if up <= down:
        # Flink goes over producers: each has the consumers from ceil(i·down/up) up to
        # ceil((i+1)·down/up).
        return [i for i in range(up) if ceil(i * down / up) <= consumer < ceil((i + 1) * down / up)]
    return list(range(consumer * up // down, (consumer + 1) * up // down))


def slots_by_group(job: Job) -> dict[str, list[int]]:
    groups: dict[str, int] = {}
    for parallelism, group in job.vertices:
        groups[group] = max(groups.get(group, 0), parallelism)
    found, first = {}, 0
    for group, size in groups.items():
        found[group] = list(range(first, first + size))
        first += size
    return found


def topological(job: Job) -> list[int]:
    missing = {v: sum(1 for e in job.edges if e[1] == v) for v in range(len(job.vertices))}
    order = [v for v in missing if not missing[v]]
    at = 0
    while at < len(order):
        for source, target, _ in job.edges:
            if source == order[at]:
                missing[target] -= 1
                if not missing[target]:
                    order.append(target)
        at += 1
    return order


def fewest_tasks(job: Job) -> dict[tuple[int, int], int]:
    """(vertex, subtask) → slot."""
    groups, tasks = slots_by_group(job), Counter[int]()
    placed: dict[tuple[int, int], int] = {}
    for vertex in topological(job):
        parallelism, group = job.vertices[vertex]
        own = set(groups[group])
        taken: dict[int, int] = {}
        before = Counter(tasks)
        incoming = [e for e in job.edges if e[1] == vertex and job.vertices[e[0]][1] == group]
        incoming = [e for e in incoming if e[2]] or incoming
        for subtask in range(parallelism):
            near = {placed[e[0], i] for e in incoming for i in feeders(job, e, subtask)} - set(
                taken.values()
            )
            if near:
                taken[subtask] = min(near, key=lambda slot: (before[slot], slot))
        for subtask in range(parallelism):
            if subtask not in taken:
                taken[subtask] = min(
                    own - set(taken.values()), key=lambda slot: (before[slot], slot)
                )
        for subtask, slot in taken.items():
            placed[vertex, subtask] = slot
            tasks[slot] += 1
    return placed


def by_index(job: Job) -> dict[tuple[int, int], int]:
    groups = slots_by_group(job)
    return {
        (v, i): groups[group][i]
        for v, (parallelism, group) in enumerate(job.vertices)
        for i in range(parallelism)
    }


def contents(job: Job, placed: dict[tuple[int, int], int]) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {
        slot: set() for slots in slots_by_group(job).values() for slot in slots
    }
    for (vertex, _), slot in placed.items():
        found[slot].add(vertex)
    return {slot: frozenset(vertices) for slot, vertices in found.items()}


def buffers(
    job: Job, where: dict[tuple[int, int], int], taskmanagers: int, per_channel: int
) -> list[int]:
    """Channel by channel, by TaskManager."""
    least = [0] * taskmanagers
    for edge in job.edges:
        source, target, _ = edge
        written = Counter[int]()
        for consumer in range(job.vertices[target][0]):
            here = where[target, consumer]
            exclusive = 0
            for producer in feeders(job, edge, consumer):
                written[producer] += 1
                if where[source, producer] != here:
                    exclusive += per_channel
            least[here] += exclusive + 1
        for producer in range(job.vertices[source][0]):
            there = where[source, producer]
            least[there] += written[producer] + 1
    return least


def regions(job: Job) -> list[set[tuple[int, int]]]:
    """Tasks that exchange records, found one from the other."""
    beside: dict[tuple[int, int], set[tuple[int, int]]] = {
        (v, i): set() for v, (p, _) in enumerate(job.vertices) for i in range(p)
    }
    for edge in job.edges:
        for consumer in range(job.vertices[edge[1]][0]):
            for producer in feeders(job, edge, consumer):
                beside[edge[0], producer].add((edge[1], consumer))
                beside[edge[1], consumer].add((edge[0], producer))
    found: list[set[tuple[int, int]]] = []
    for task in beside:
        if not any(task in region for region in found):
            region, waiting = {task}, [task]
            while waiting:
                fresh = beside[waiting.pop()] - region
                region |= fresh
                waiting += fresh
            found.append(region)
    return found
