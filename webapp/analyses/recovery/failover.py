import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

import numpy as np
from django.db.models import Count, Q

from spark_jobs.diagnosis.pressure import typical
from spark_jobs.diagnosis.regional_model import (
    PROPOSED_LIMITS,
    Outcomes,
    least_task_success,
    regional_share,
    task_success,
)
from spark_jobs.placement.plan import Indices, Plan
from spark_jobs.placement.regions import region_sizes, regions
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.analyses.placement.job_placement import HostLoad, TaskManagerLoad, look_up_placement
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.job_plan import plan_of, restarts_all
from webapp.fleet.models import JobCurrent
from webapp.lib.outage import Outage
from webapp.pressure.hours import newest_windows

ALONE_PHASES = ("detect", "redeploy", "restore")
"""Phases of a task that restarts alone: nothing else is cancelled, and it takes a free slot."""


@dataclass(frozen=True)
class Phases:
    """Medians over ``outages``; None is unknown. ``alone_ms``: if one task restarts alone."""

    outages: int
    downtime_ms: float | None
    alone_ms: float | None


@dataclass(frozen=True)
class SpareSlots:
    """``saved_ms``: by how much outages with lost TaskManagers wait longer than others
    (``usual_ms``; by default the delay of the restart strategy). ``slots`` of one TaskManager.
    """

    outages: int
    lost_wait_ms: float
    usual_ms: float
    saved_ms: float
    slots: int | None


def phases(outages: Iterable[Outage]) -> Phases:
    outages = list(outages)
    return Phases(
        len(outages),
        typical(outage.downtime_ms for outage in outages),
        typical(
            None if outage.part_ms["restore"] is None else _sum(outage, ALONE_PHASES)
            for outage in outages
        ),
    )


def spare_slots(
    observed: Sequence[tuple[Outage, int]], delay_ms: float | None, slots: int | None
) -> SpareSlots | None:
    """``observed``: (outage, number of lost TaskManagers). None if none was lost or no wait is
    known.
    """
    waits = [(lost, wait) for outage, lost in observed if (wait := _wait_ms(outage)) is not None]
    with_loss = [wait for lost, wait in waits if lost]
    without_loss = [wait for lost, wait in waits if not lost]
    usual = median(without_loss) if without_loss else delay_ms
    if not with_loss or usual is None:
        return None
    lost_wait = median(with_loss)
    return SpareSlots(len(with_loss), lost_wait, usual, max(lost_wait - usual, 0), slots)


def _wait_ms(outage: Outage) -> float | None:
    return None if outage.part_ms["wait"] is None else _sum(outage, ("wait", "failed_attempts"))


def _sum(outage: Outage, names: Iterable[str]) -> float:
    return sum(outage.part_ms[name] or 0 for name in names)


HISTORY = timedelta(days=7)
"""Older completed checkpoints are deleted."""
FACTORS = (0.25, 0.5, 1, 2, 4, 8, 16)
MOST_PARALLELISM = 32_768
"""Flink's own limit."""
LEAST_CHECKPOINTS = 20
"""With fewer, the failure rate of a job's tasks is unknown."""


@dataclass(frozen=True)
class Shares:
    """Shares of full and of regional checkpoints that would complete."""

    full: float
    by_region: float


@dataclass(frozen=True)
class AtParallelism:
    """``shares`` at the success rate of the job's tasks; ``at_least`` at its lower bound."""

    parallelism: int
    tasks: int
    regions: int
    is_now: bool
    shares: Shares | None
    at_least: Shares | None


@dataclass(frozen=True)
class RegionalCheckpoints:
    """``task_success``: rate of one task, None if unknown; ``at_least``: with 95 % confidence."""

    completed: int
    failed: int
    task_success: float | None
    at_least: float | None
    curve: Sequence[AtParallelism]


def regional_checkpoints(
    job: JobCurrent, plan: Plan, regions: int, until: datetime
) -> RegionalCheckpoints:
    until = min(until, job.last_seen_at or job.as_of)
    recent = CheckpointFact.objects.filter(
        **job.identity,
        trigger_time__gte=until - HISTORY,
        trigger_time__lte=until,
    )
    counts = recent.exclude(is_savepoint=True).aggregate(
        completed=Count("pk", filter=Q(outcome="completed")),
        failed=Count("pk", filter=Q(outcome__in=FAILED_OUTCOMES)),
    )
    outcomes = Outcomes(counts["completed"], counts["failed"], plan.tasks)
    is_known = outcomes.completed + outcomes.failed >= LEAST_CHECKPOINTS
    success = task_success(outcomes) if is_known and outcomes.failed else None
    least = least_task_success(outcomes) if is_known else None
    now = max(vertex.parallelism for vertex in plan.vertices)
    curve = []
    for parallelism in sorted(
        {min(max(round(now * factor), 1), MOST_PARALLELISM) for factor in FACTORS}
    ):
        tasks = sum(
            max(1, round(vertex.parallelism * parallelism / now)) if vertex.parallelism > 1 else 1
            for vertex in plan.vertices
        )
        region_count = min(tasks, max(1, round(regions * parallelism / now))) if regions > 1 else 1
        shares, bounds = (
            None if rate is None else _shares(rate, tasks, region_count)
            for rate in (success, least)
        )
        curve.append(
            AtParallelism(parallelism, tasks, region_count, parallelism == now, shares, bounds)
        )
    return RegionalCheckpoints(outcomes.completed, outcomes.failed, success, least, curve)


def _shares(rate: float, tasks: int, region_count: int) -> Shares:
    share, reuse = PROPOSED_LIMITS
    by_region = regional_share(
        1 - rate ** (tasks / region_count), region_count, int(share * region_count + 1e-9), reuse
    )
    return Shares(rate**tasks, by_region)


LARGEST_MAP = 2_000_000
"""Tasks. Regions of larger jobs are not computed for a page."""
_DELAY = "restart-strategy.fixed-delay.delay"
_DURATION = re.compile(r"(\d{1,9})\s*(ms|s|min|h)")
_UNIT_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}


@dataclass(frozen=True)
class VertexRegions:
    """``alone_records``: records that would be lost if one subtask of the vertex restarted alone."""

    name: str
    parallelism: int
    regions: int
    restarts: int
    alone_records: int | None


@dataclass(frozen=True)
class Failover:
    """``largest``: tasks of the largest region. ``by_plan``: regions of the plan, whatever the
    failover strategy. TaskManagers and hosts whose loss restarts most come first.
    """

    tasks: int
    regions: int
    largest: int
    restarts_all: bool
    by_plan: int
    vertices: tuple[VertexRegions, ...]
    taskmanagers: Sequence[TaskManagerLoad]
    hosts: Sequence[HostLoad]
    phases: Phases
    spare: SpareSlots | None
    checkpoints: RegionalCheckpoints


def failover(
    job: JobCurrent, until: datetime, since: datetime, observed: Sequence[tuple[Outage, int]]
) -> Failover | None:
    """``observed``: (outage, number of lost TaskManagers). None if the plan is unknown or too large."""
    plan = plan_of(job)
    if plan is None or plan.tasks > LARGEST_MAP:
        return None
    is_full = restarts_all(job.configuration)
    labels = regions(plan, full=is_full)
    sizes = region_sizes(labels)
    by_plan = len(region_sizes(regions(plan))) if is_full else len(sizes)
    outage_phases = phases(outage for outage, _lost in observed)
    placement = look_up_placement(job, until)
    taskmanagers = (
        sorted(
            placement.taskmanagers,
            key=lambda taskmanager: (-taskmanager.restarts, taskmanager.taskmanager_id),
        )
        if placement
        else []
    )
    slots = max(
        (taskmanager.slots for taskmanager in taskmanagers if taskmanager.slots), default=None
    )
    return Failover(
        tasks=plan.tasks,
        regions=len(sizes),
        largest=int(sizes.max()),
        restarts_all=is_full,
        by_plan=by_plan,
        vertices=_vertices(job, plan, labels, sizes, until, since, outage_phases.alone_ms),
        taskmanagers=taskmanagers,
        hosts=placement.hosts if placement else (),
        phases=outage_phases,
        spare=spare_slots(observed, restart_delay_ms(job.configuration), slots),
        checkpoints=regional_checkpoints(job, plan, by_plan, until),
    )


def restart_delay_ms(configuration: Mapping[str, Any] | None) -> float | None:
    """The configured fixed delay, or None."""
    text = str((configuration or {}).get(_DELAY) or "").strip().lower()
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _UNIT_MS[match[2]] if match else None


def _vertices(
    job: JobCurrent,
    plan: Plan,
    labels: Sequence[Indices],
    sizes: Indices,
    until: datetime,
    since: datetime,
    alone_ms: float | None,
) -> tuple[VertexRegions, ...]:
    rates = newest_windows(job.cluster, job.job_id, since, until)
    vertices = []
    for vertex, subtask_labels in zip(plan.vertices, labels, strict=True):
        window = rates.get(vertex.vertex_id)
        # A source has no input of its own.
        rate = (window.records_in_per_s or window.records_out_per_s) if window else None
        lost = (
            None
            if rate is None or alone_ms is None
            else round(rate / vertex.parallelism * alone_ms / 1000)
        )
        vertices.append(
            VertexRegions(
                name=vertex.name,
                parallelism=vertex.parallelism,
                regions=len(np.unique(subtask_labels)),
                restarts=int(sizes[subtask_labels].max()),
                alone_records=lost,
            )
        )
    return tuple(vertices)
