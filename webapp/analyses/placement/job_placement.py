"""The placement of a job: how even it is now, and how even Flink's rules would make it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.core.cache import cache

from ingest.flink_rest.versions import release
from ingest.messages import message
from spark_jobs.diagnosis.placement_settings import TASKS_SINCE, spreading_setting, spreads
from spark_jobs.diagnosis.samples import EVENLY_SPREAD, LOAD_BALANCE_MODE
from spark_jobs.placement.network_buffers import BufferSettings
from spark_jobs.placement.plan import Indices, Plan
from spark_jobs.placement.regions import regions, restarted_by_taskmanager
from spark_jobs.placement.slots import simulate
from spark_jobs.placement.spread import Spread, spread
from webapp.fleet.job_plan import buffer_settings, plan_of, restarts_all
from webapp.fleet.models import JobCurrent
from webapp.fleet.task_samples import LARGEST_READ, Sampled, read_samples
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step


def advice(version: tuple[int, ...] | None, configuration: Mapping[str, Any] | None) -> str:
    """One or two sentences, which mention settings that exist already."""
    settings = configuration or {}
    before_2_2 = message(
        "Before 2.2, give vertices of smaller parallelism a slot sharing group of their own, or "
        "all vertices the same parallelism."
    )
    if version is None:
        return message(
            "The version of Flink is not known: {mode:name} TASKS (2.2 and later), "
            "SLOTS (1.19 and later) or {evenly:name} (before) spread tasks.",
            mode=LOAD_BALANCE_MODE,
            evenly=EVENLY_SPREAD,
        )
    if version >= TASKS_SINCE:
        if spreads(version, settings):
            return message(
                "{mode:name} is TASKS already. After failovers, a larger slot.request.max-interval "
                "lets Flink see all requests at once.",
                mode=LOAD_BALANCE_MODE,
            )
        return message(
            "Set {setting:name} for the cluster and restart the job: Flink then balances its "
            "tasks.",
            setting=spreading_setting(version),
        )
    if spreads(version, settings):
        return message(
            "Flink already spreads slots over TaskManagers. Since 2.2 it also balances tasks "
            "within slots ({mode:name}: TASKS). {by_hand:message}",
            mode=LOAD_BALANCE_MODE,
            by_hand=before_2_2,
        )
    spread = message(
        "slots are then spread over TaskManagers. Since 2.2 Flink also balances tasks within slots."
    )
    return message(
        "Set {setting:name} for the cluster: {spread:message} {by_hand:message}",
        setting=spreading_setting(version),
        spread=spread,
        by_hand=before_2_2,
    )


NOW, DEFAULT, BALANCED = "now", "default", "balanced"


@dataclass(frozen=True)
class Outcome:
    """A placement. ``tasks`` by TaskManager, fullest first. ``concentration``: the most subtasks of
    a vertex on one TaskManager over their even share, of all vertices. ``buffers_least``: network
    buffers that a TaskManager needs, the most of all.
    """

    key: str
    tasks: Sequence[int]
    max_over_mean: float | None
    concentration: float
    concentrated_vertex: str
    buffers_least: int


@dataclass(frozen=True)
class TaskManagerLoad:
    """``buffers`` are in its pool; ``short_by`` are lacking. ``restarts``: tasks if it is lost."""

    taskmanager_id: str
    host: str | None
    slots: int | None
    tasks: int
    buffers_least: int
    buffers: int | None
    restarts: int

    @property
    def short_by(self) -> int:
        return max(self.buffers_least - self.buffers, 0) if self.buffers is not None else 0


@dataclass(frozen=True)
class VertexSpread:
    """``most``: subtasks on the TaskManager that has most; ``even``: the even share."""

    name: str
    parallelism: int
    taskmanagers: int
    most: int
    even: int


@dataclass(frozen=True)
class HostLoad:
    """``restarts``: the number of tasks that restart if all TaskManagers of the host are lost."""

    host: str
    tasks: int
    restarts: int


@dataclass(frozen=True)
class JobPlacement:
    """``outcomes``: now (if known), Flink's default, balanced tasks. ``unknown``: sentences."""

    at: datetime | None
    tasks: int
    slots_needed: int
    outcomes: Sequence[Outcome]
    taskmanagers: Sequence[TaskManagerLoad]
    hosts: Sequence[HostLoad]
    vertices: Sequence[VertexSpread]
    segment_bytes: int
    advice: str
    unknown: Sequence[str]

    def outcome(self, key: str) -> Outcome | None:
        return next((outcome for outcome in self.outcomes if outcome.key == key), None)


def placement_of(job: JobCurrent, plan: Plan, sampled: Sampled) -> JobPlacement:
    settings = buffer_settings(job.configuration)
    ids = sorted(
        {name for vertex in sampled.vertices.values() for name in vertex.taskmanagers if name}
    )
    unknown: list[str] = []
    now = _current_indices(plan, sampled, ids)
    if now is None:
        unknown.append(
            message(
                "Where its subtasks run is not known: nobody sampled them in the last minutes of "
                "the time shown."
            )
        )
    elif any((indices < 0).any() for indices in now):
        unknown.append(
            message(
                "The location of some subtasks is not known; they are left out of the current "
                "state."
            )
        )
    if any(vertex.slot_group is None for vertex in plan.vertices):
        unknown.append(
            message(
                "Slot sharing groups are not reported by this version of Flink: simulated as one "
                "group."
            )
        )
    slots_each, sentence = _slots_each(plan, sampled, ids)
    unknown += sentence
    simulated_spread, outcomes = simulate(plan, slots_each), []
    if now is not None:
        spread_now = spread(plan, now, len(ids), settings)
        outcomes.append(_outcome(NOW, plan, spread_now))
    for key, placement in (
        (DEFAULT, simulated_spread.by_default),
        (BALANCED, simulated_spread.balanced),
    ):
        indices = [placement.taskmanagers(position) for position in range(len(plan.vertices))]
        outcomes.append(_outcome(key, plan, spread(plan, indices, len(slots_each), settings)))
    region_labels = regions(plan, full=restarts_all(job.configuration))
    return JobPlacement(
        sampled.at,
        plan.tasks,
        plan.slots_needed(),
        outcomes,
        _taskmanagers(
            spread_now,
            sampled,
            ids,
            settings,
            restarted_by_taskmanager(region_labels, now, len(ids)),
        )
        if now
        else (),
        _hosts(sampled, ids, now, region_labels) if now else (),
        _vertices(plan, spread_now) if now else (),
        settings.segment_bytes,
        advice(release(job.flink_version), job.configuration),
        unknown,
    )


def _current_indices(plan: Plan, sampled: Sampled, ids: Sequence[str]) -> list[Indices] | None:
    """By vertex, the index of each subtask's TaskManager, -1 if unknown; None if all are unknown."""
    if not ids:
        return None
    index_of = {name: index for index, name in enumerate(ids)}
    indices = []
    for vertex in plan.vertices:
        sample = sampled.vertices.get(vertex.vertex_id)
        of_subtasks = np.full(vertex.parallelism, -1, dtype=np.int64)
        sampled_ids = sample.taskmanagers[: vertex.parallelism] if sample else ()
        of_subtasks[: len(sampled_ids)] = [index_of.get(name or "", -1) for name in sampled_ids]
        indices.append(of_subtasks)
    return indices


def _slots_each(plan: Plan, sampled: Sampled, ids: Sequence[str]) -> tuple[list[int], list[str]]:
    needed = plan.slots_needed()
    slots = [
        sampled.taskmanagers[name].slots or 0 if name in sampled.taskmanagers else 0 for name in ids
    ]
    if slots and all(slots) and sum(slots) >= needed:
        return slots, []
    taskmanagers = len(ids) or 1
    assumed = -(-needed // taskmanagers)
    return [assumed] * taskmanagers, [
        message(
            "Slots of its TaskManagers are not known: simulated with {assumed:count} on each of "
            "{taskmanagers:count}.",
            assumed=assumed,
            taskmanagers=taskmanagers,
        )
    ]


def _outcome(key: str, plan: Plan, spread: Spread) -> Outcome:
    concentration = spread.concentration()
    worst = int(concentration.argmax())
    return Outcome(
        key,
        np.sort(spread.tasks)[::-1].tolist(),
        spread.max_over_mean,
        float(concentration[worst]),
        plan.vertices[worst].name,
        int(spread.buffers.max()),
    )


def _taskmanagers(
    spread: Spread,
    sampled: Sampled,
    ids: Sequence[str],
    settings: BufferSettings,
    restarted: Indices,
) -> list[TaskManagerLoad]:
    loads = []
    for index, name in enumerate(ids):
        sample = sampled.taskmanagers.get(name)
        network_bytes = sample.network_bytes if sample else None
        loads.append(
            TaskManagerLoad(
                name,
                sample.host if sample else None,
                sample.slots if sample else None,
                int(spread.tasks[index]),
                int(spread.buffers[index]),
                None if network_bytes is None else network_bytes // settings.segment_bytes,
                int(restarted[index]),
            )
        )
    return sorted(loads, key=lambda load: (-load.tasks, load.taskmanager_id))


def _hosts(
    sampled: Sampled, ids: Sequence[str], now: Sequence[Indices], region_labels: Sequence[Indices]
) -> list[HostLoad]:
    host_of = [
        sampled.taskmanagers[name].host if name in sampled.taskmanagers else None for name in ids
    ]
    hosts = sorted({host for host in host_of if host})
    # An unknown index (-1) means the last element, which is unknown too.
    position = np.array(
        [*(hosts.index(host) if host else -1 for host in host_of), -1], dtype=np.int64
    )
    host_indices = [position[indices] for indices in now]
    restarted = restarted_by_taskmanager(region_labels, host_indices, len(hosts))
    all_indices = np.concatenate(host_indices)
    tasks = np.bincount(all_indices[all_indices >= 0], minlength=len(hosts))
    loads = [
        HostLoad(host, int(tasks[index]), int(restarted[index])) for index, host in enumerate(hosts)
    ]
    return sorted(loads, key=lambda load: (-load.restarts, -load.tasks, load.host))


def _vertices(plan: Plan, spread: Spread) -> list[VertexSpread]:
    spreads = []
    for vertex, counts in zip(plan.vertices, spread.tasks_of, strict=True):
        known, taskmanagers = int(counts.sum()), len(counts)
        spreads.append(
            VertexSpread(
                vertex.name,
                vertex.parallelism,
                taskmanagers=int((counts > 0).sum()),
                most=int(counts.max()),
                even=-(-known // taskmanagers),
            )
        )
    return sorted(spreads, key=lambda each: -(each.most / each.even if each.even else 0))


log = logging.getLogger(__name__)

_CACHED_CLASSES = (JobPlacement, Outcome, TaskManagerLoad, HostLoad, VertexSpread)


def look_up_placement(job: JobCurrent, until: datetime | None = None) -> JobPlacement | None:
    """The placement when the job was last seen, up to ``until``. None if the plan is unknown."""
    at = job.last_seen_at or job.as_of
    at = end_of_step(min(at, until) if until else at)
    key = answer_key("placement", _CACHED_CLASSES, job.cluster, job.job_id, job.as_of, at)
    cached = cache.get(key)
    if isinstance(cached, JobPlacement):
        return cached
    plan = plan_of(job)
    if plan is None:
        return None
    try:
        sampled = (
            read_samples(job.cluster, job.job_id, plan.tasks, at)
            if plan.tasks <= LARGEST_READ
            else Sampled()
        )
    except Exception:  # The lake may be any storage, with any error; the plan is in the database.
        log.exception(
            "Samples of %s on %s could not be read from the lake", job.job_id, job.cluster
        )
        return placement_of(job, plan, Sampled())
    placement = placement_of(job, plan, sampled)
    cache.set(key, placement, KEPT_S)
    return placement
