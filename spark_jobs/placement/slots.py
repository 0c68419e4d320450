"""Assigns subtasks to slots and slots to TaskManagers: by Flink's default, and balanced by tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spark_jobs.placement.plan import Indices, Plan, PlannedEdge, producers


@dataclass(frozen=True)
class Placement:
    """``slot_of``: by vertex, the slot of each subtask. ``taskmanager_of``: by slot."""

    slot_of: Sequence[Indices]
    taskmanager_of: Indices

    def taskmanagers(self, vertex: int) -> Indices:
        return self.taskmanager_of[self.slot_of[vertex]]


@dataclass(frozen=True)
class Simulated:
    by_default: Placement
    balanced: Placement


def simulated(plan: Plan, slots_each: Sequence[int]) -> Simulated:
    """``slots_each``: by TaskManager. Raises ``ValueError`` if they do not suffice."""
    needed = plan.slots_needed()
    if sum(slots_each) < needed:
        raise ValueError(
            f"The job needs {needed} slots and the TaskManagers have {sum(slots_each)}: raise "
            "their number or their slots."
        )
    filled = np.repeat(np.arange(len(slots_each)), slots_each)[:needed]
    dealt = _deal(slots_each)[:needed]
    fewest = _fewest_tasks(plan)
    balanced = Placement(fewest, _spread_out(plan, fewest, dealt))
    return Simulated(Placement(_by_index(plan), filled), balanced)


def _spread_out(plan: Plan, slot_of: Sequence[Indices], dealt: Indices) -> Indices:
    taskmanager_of = np.empty(len(dealt), dtype=np.int64)
    taskmanager_of[_by_content(plan, slot_of, len(dealt))] = dealt
    return taskmanager_of


def _by_index(plan: Plan) -> list[Indices]:
    """The first slots of a group hold a subtask of each vertex, the last ones only those of the
    largest vertex.
    """
    slot_of: list[Indices] = [np.empty(0, dtype=np.int64)] * len(plan.vertices)
    first = 0
    for of_group in plan.groups().values():
        for position in of_group:
            slot_of[position] = first + np.arange(plan.vertices[position].parallelism)
        first += max(plan.vertices[position].parallelism for position in of_group)
    return slot_of


def _fewest_tasks(plan: Plan) -> list[Indices]:
    slot_of: list[Indices] = [np.empty(0, dtype=np.int64)] * len(plan.vertices)
    first_slot, size, first = {}, {}, 0
    for group, of_group in plan.groups().items():
        first_slot[group], size[group] = (
            first,
            max(plan.vertices[position].parallelism for position in of_group),
        )
        first += size[group]
    tasks = np.zeros(first, dtype=np.int64)
    inputs = plan.inputs()
    for position in plan.in_order():
        vertex = plan.vertices[position]
        own = slice(
            first_slot[vertex.slot_group], first_slot[vertex.slot_group] + size[vertex.slot_group]
        )
        near = [
            edge
            for edge in inputs[position]
            if len(slot_of[edge.source])
            and plan.vertices[edge.source].slot_group == vertex.slot_group
        ]
        pointwise = [edge for edge in near if edge.is_pointwise]
        taken = np.full(vertex.parallelism, -1, dtype=np.int64)
        if pointwise:
            taken = _beside_producers(_candidates(plan, pointwise, slot_of), tasks)
        elif near:
            feeds = np.zeros(len(tasks), dtype=bool)
            for edge in near:
                feeds[slot_of[edge.source]] = True
            chosen = _emptiest(np.flatnonzero(feeds), tasks, vertex.parallelism)
            taken[: len(chosen)] = chosen
        left = np.flatnonzero(taken < 0)
        if len(left):
            is_free = np.ones(size[vertex.slot_group], dtype=bool)
            is_free[taken[taken >= 0] - own.start] = False
            taken[left] = _emptiest(own.start + np.flatnonzero(is_free), tasks, len(left))
        slot_of[position] = taken
        tasks[taken] += 1
    return slot_of


def _emptiest(slots: Indices, tasks: Indices, count: int) -> Indices:
    return slots[np.argsort(tasks[slots] * len(tasks) + slots)[:count]]


def _candidates(plan: Plan, edges: Sequence[PlannedEdge], slot_of: Sequence[Indices]) -> Indices:
    """By consumer, the slots of its pointwise producers, padded with -1."""
    target = plan.vertices[edges[0].target].parallelism
    columns = []
    for edge in edges:
        first, end = producers(plan.vertices[edge.source].parallelism, target)
        for offset in range(int((end - first).max())):
            within = first + offset < end
            columns.append(
                np.where(within, slot_of[edge.source][np.where(within, first + offset, first)], -1)
            )
    return np.stack(columns, axis=1)


def _beside_producers(candidates: Indices, tasks: Indices) -> Indices:
    """As if consumers chose one after the other, each the emptiest candidate not yet taken; -1 if
    none is left. All choose at once, a slot keeps the first consumer that chose it, and the others
    choose again. Slots prefer consumers only by index, so the result is the same.
    """
    consumers, choices = candidates.shape
    if choices == 1:
        return _first_choices(candidates[:, 0], len(tasks))
    cost = np.where(
        candidates >= 0, tasks[candidates] * (len(tasks) + 1) + candidates, np.iinfo(np.int64).max
    )
    candidates = np.take_along_axis(candidates, np.argsort(cost, axis=1, kind="stable"), axis=1)
    holder = np.full(len(tasks), consumers, dtype=np.int64)
    next_choice = np.zeros(consumers, dtype=np.int64)
    choosing = np.arange(consumers)
    while len(choosing):
        choosing = choosing[next_choice[choosing] < candidates.shape[1]]
        wanted = candidates[choosing, next_choice[choosing]]
        choosing, wanted = choosing[wanted >= 0], wanted[wanted >= 0]
        before = holder[wanted]
        np.minimum.at(holder, wanted, choosing)
        displaced = before[(before < consumers) & (holder[wanted] != before)]
        refused = np.concatenate([choosing[holder[wanted] != choosing], np.unique(displaced)])
        next_choice[refused] += 1
        choosing = np.sort(refused)
    taken = np.full(consumers, -1, dtype=np.int64)
    held = np.flatnonzero(holder < consumers)
    taken[holder[held]] = held
    return taken


def _first_choices(wanted: Indices, slots: int) -> Indices:
    consumers = np.arange(len(wanted))
    holder = np.empty(slots, dtype=np.int64)
    holder[wanted[::-1]] = consumers[::-1]
    return np.where(holder[wanted] == consumers, wanted, -1)


def _by_content(plan: Plan, slot_of: Sequence[Indices], slots: int) -> Indices:
    tasks, content = np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.uint64)
    # Sums of random marks distinguish contents; seeded, so that a plan always gives the same
    # result.
    marks = np.random.default_rng(0).integers(
        1, np.iinfo(np.uint64).max, size=len(plan.vertices), dtype=np.uint64
    )
    for position, taken in enumerate(slot_of):
        tasks[taken] += 1
        content[taken] += marks[position]
    return np.lexsort((np.arange(slots), content, -tasks))


def _deal(slots_each: Sequence[int]) -> Indices:
    taskmanager = np.repeat(np.arange(len(slots_each)), slots_each)
    turn = (
        np.concatenate([np.arange(slots) for slots in slots_each])
        if len(slots_each)
        else np.empty(0, dtype=np.int64)
    )
    return taskmanager[np.lexsort((taskmanager, turn))]
