"""Assigns subtasks to slots and slots to TaskManagers: by Flink's default, and balanced by tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spark_jobs.placement.plan import Indices, Plan, PlannedEdge, producer_ranges


@dataclass(frozen=True)
class Placement:
    """``slot_of``: by vertex, the slot of each subtask. ``taskmanager_of``: by slot."""

    slot_of: Sequence[Indices]
    taskmanager_of: Indices

    def taskmanagers(self, vertex: int) -> Indices:
        return self.taskmanager_of[self.slot_of[vertex]]


@dataclass(frozen=True)
class Simulation:
    by_default: Placement
    balanced: Placement


def simulate(plan: Plan, slots_each: Sequence[int]) -> Simulation:
    """``slots_each``: the slots of each TaskManager. Raises ValueError if the job needs more."""
    needed = plan.slots_needed()
    if sum(slots_each) < needed:
        raise ValueError(
            f"The job needs {needed} slots and the TaskManagers have {sum(slots_each)}: raise "
            "their number or their slots."
        )
    in_order = np.repeat(np.arange(len(slots_each)), slots_each)[:needed]
    in_turn = _deal(slots_each)[:needed]
    slot_of = _slots_with_fewest_tasks(plan)
    taskmanager_of = np.empty(needed, dtype=np.int64)
    taskmanager_of[_sort_by_content(plan, slot_of, needed)] = in_turn
    return Simulation(
        by_default=Placement(_slots_by_index(plan), in_order),
        balanced=Placement(slot_of, taskmanager_of),
    )


def _slots_by_index(plan: Plan) -> list[Indices]:
    slots = plan.group_slots()
    return [
        slots[vertex.slot_group].start + np.arange(vertex.parallelism) for vertex in plan.vertices
    ]


def _slots_with_fewest_tasks(plan: Plan) -> list[Indices]:
    slot_of: list[Indices] = [np.empty(0, dtype=np.int64)] * len(plan.vertices)
    group_slots, inputs = plan.group_slots(), plan.inputs()
    tasks = np.zeros(plan.slots_needed(), dtype=np.int64)
    for position in plan.producers_first():
        vertex = plan.vertices[position]
        candidates = group_slots[vertex.slot_group]
        group_inputs = [
            edge
            for edge in inputs[position]
            if len(slot_of[edge.source])
            and plan.vertices[edge.source].slot_group == vertex.slot_group
        ]
        pointwise = [edge for edge in group_inputs if edge.is_pointwise]
        chosen = np.full(vertex.parallelism, -1, dtype=np.int64)
        if pointwise:
            chosen = _beside_producers(_producer_slots(plan, pointwise, slot_of), tasks)
        elif group_inputs:
            has_producer = np.zeros(len(tasks), dtype=bool)
            for edge in group_inputs:
                has_producer[slot_of[edge.source]] = True
            emptiest = _emptiest(np.flatnonzero(has_producer), tasks, vertex.parallelism)
            chosen[: len(emptiest)] = emptiest
        slotless = np.flatnonzero(chosen < 0)
        if len(slotless):
            is_free = np.ones(len(candidates), dtype=bool)
            is_free[chosen[chosen >= 0] - candidates.start] = False
            free = candidates.start + np.flatnonzero(is_free)
            chosen[slotless] = _emptiest(free, tasks, len(slotless))
        slot_of[position] = chosen
        tasks[chosen] += 1
    return slot_of


def _emptiest(slots: Indices, tasks: Indices, count: int) -> Indices:
    return slots[np.argsort(tasks[slots] * len(tasks) + slots)[:count]]


def _producer_slots(
    plan: Plan, edges: Sequence[PlannedEdge], slot_of: Sequence[Indices]
) -> Indices:
    """By consumer, the slots of its producers on pointwise edges, padded with -1."""
    consumers = plan.vertices[edges[0].target].parallelism
    columns = []
    for edge in edges:
        first, end = producer_ranges(plan.vertices[edge.source].parallelism, consumers)
        for offset in range(int((end - first).max())):
            is_producer = first + offset < end
            columns.append(
                np.where(
                    is_producer,
                    slot_of[edge.source][np.where(is_producer, first + offset, first)],
                    -1,
                )
            )
    return np.stack(columns, axis=1)


def _beside_producers(candidates: Indices, tasks: Indices) -> Indices:
    """The slots that consumers get if each in turn chooses its emptiest free candidate; -1 if none
    is free. Here all choose at once, a slot keeps the consumer with the lowest index, and the
    others choose again: the result is the same.
    """
    consumers, choices = candidates.shape
    if choices == 1:
        choice, indexes = candidates[:, 0], np.arange(consumers)
        holder = np.empty(len(tasks), dtype=np.int64)
        holder[choice[::-1]] = indexes[::-1]
        return np.where(holder[choice] == indexes, choice, -1)
    cost = np.where(
        candidates >= 0, tasks[candidates] * (len(tasks) + 1) + candidates, np.iinfo(np.int64).max
    )
    candidates = np.take_along_axis(candidates, np.argsort(cost, axis=1, kind="stable"), axis=1)
    holder = np.full(len(tasks), consumers, dtype=np.int64)
    next_choice = np.zeros(consumers, dtype=np.int64)
    choosers = np.arange(consumers)
    while len(choosers):
        choosers = choosers[next_choice[choosers] < candidates.shape[1]]
        choice = candidates[choosers, next_choice[choosers]]
        choosers, choice = choosers[choice >= 0], choice[choice >= 0]
        previous = holder[choice]
        np.minimum.at(holder, choice, choosers)
        displaced = previous[(previous < consumers) & (holder[choice] != previous)]
        refused = np.concatenate([choosers[holder[choice] != choosers], np.unique(displaced)])
        next_choice[refused] += 1
        choosers = np.sort(refused)
    chosen = np.full(consumers, -1, dtype=np.int64)
    occupied = np.flatnonzero(holder < consumers)
    chosen[holder[occupied]] = occupied
    return chosen


def _sort_by_content(plan: Plan, slot_of: Sequence[Indices], slots: int) -> Indices:
    """Slots, most tasks first, slots of equal content side by side."""
    tasks, content = np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.uint64)
    # Sums of random marks distinguish contents. The seed makes results repeatable.
    marks = np.random.default_rng(0).integers(
        1, np.iinfo(np.uint64).max, size=len(plan.vertices), dtype=np.uint64
    )
    for position, vertex_slots in enumerate(slot_of):
        tasks[vertex_slots] += 1
        content[vertex_slots] += marks[position]
    return np.lexsort((np.arange(slots), content, -tasks))


def _deal(slots_each: Sequence[int]) -> Indices:
    """TaskManagers in turn, each as long as it has slots."""
    taskmanager = np.repeat(np.arange(len(slots_each)), slots_each)
    turn = (
        np.concatenate([np.arange(slots) for slots in slots_each])
        if len(slots_each)
        else np.empty(0, dtype=np.int64)
    )
    return taskmanager[np.lexsort((taskmanager, turn))]
