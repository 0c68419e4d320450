"""What a failure restarts, by the failover regions of the plan; what did restart; and what it would
cost if one task came back alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from spark_jobs.diagnosis.regional_model import PROPOSED_LIMITS
from spark_jobs.placement.plan import Indices, Plan
from spark_jobs.placement.regions import region_sizes, regions
from webapp.analyses.placement.job_placement import HostLoad, TaskManagerLoad
from webapp.analyses.placement.lookup import look_up_placement
from webapp.analyses.recovery.phases import Phases, SpareSlots, phases, spare_slots
from webapp.analyses.recovery.regional_checkpoints import RegionalCheckpoints, regional_checkpoints
from webapp.fleet.job_plan import plan_of, restarts_all
from webapp.fleet.models import JobCurrent, LogEvent
from webapp.lib.outage import Outage
from webapp.pressure.newest_windows import newest_windows

LARGEST_MAP = 2_000_000
"""Tasks; regions of larger jobs are not worked out for a page."""
MOST_RESTARTS = 500
_RESTARTS = ("region_restart", "global_restart")
_DELAY = "restart-strategy.fixed-delay.delay"
_DURATION = re.compile(r"(\d{1,9})\s*(ms|s|min|h)")
_UNIT_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}


@dataclass(frozen=True)
class VertexRegions:
    """One vertex. ``alone_records``: records that would be lost if one of its subtasks came back
    alone, ``alone_share`` of its input.
    """

    vertex_id: str
    name: str
    parallelism: int
    regions: int
    restarts: int
    records_per_s: float | None
    alone_records: float | None
    alone_share: float


@dataclass(frozen=True)
class ObservedRestart:
    at: datetime
    tasks: int
    is_global: bool


@dataclass(frozen=True)
class Failover:
    """``largest``: tasks of the largest region; ``by_plan``: regions of the plan, whatever the
    failover strategy is.

    TaskManagers and hosts: those whose loss restarts most first; empty where unknown.
    """

    tasks: int
    regions: int
    largest: int
    restarts_all: bool
    by_plan: int
    vertices: tuple[VertexRegions, ...]
    taskmanagers: Sequence[TaskManagerLoad]
    hosts: Sequence[HostLoad]
    observed: tuple[ObservedRestart, ...]
    phases: Phases
    spare: SpareSlots | None
    checkpoints: RegionalCheckpoints


def failover(
    job: JobCurrent,
    until: datetime,
    since: datetime,
    observed: Sequence[tuple[Outage, int]],
    limits: tuple[float, int] = PROPOSED_LIMITS,
) -> Failover | None:
    """``found``: outages with how many TaskManagers were lost; ``limits`` of regional checkpoints.

    None where the plan is not known or too large.
    """
    plan = plan_of(job)
    if plan is None or plan.tasks > LARGEST_MAP:
        return None
    everything = restarts_all(job.configuration)
    labels = regions(plan, full=everything)
    sizes = region_sizes(labels)
    by_plan = len(region_sizes(regions(plan))) if everything else len(sizes)
    of_outages = phases(outage for outage, _dead in observed)
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
        restarts_all=everything,
        by_plan=by_plan,
        vertices=_vertices(job, plan, labels, sizes, until, since, of_outages.alone_ms),
        taskmanagers=taskmanagers,
        hosts=placement.hosts if placement else (),
        observed=_observed(job, until, since),
        phases=of_outages,
        spare=spare_slots(observed, restart_delay_ms(job.configuration), slots),
        checkpoints=regional_checkpoints(job, plan, by_plan, until, limits),
    )


def restart_delay_ms(configuration: Mapping[str, Any] | None) -> float | None:
    """Of a fixed delay that is configured; None where another strategy, or none, is."""
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
    made = []
    for vertex, of_subtasks in zip(plan.vertices, labels, strict=True):
        window = rates.get(vertex.vertex_id)
        # A source has no input of its own.
        rate = (window.records_in_per_s or window.records_out_per_s) if window else None
        lost = (
            None
            if rate is None or alone_ms is None
            else rate / vertex.parallelism * alone_ms / 1000
        )
        made.append(
            VertexRegions(
                vertex_id=vertex.vertex_id,
                name=vertex.name,
                parallelism=vertex.parallelism,
                regions=len(np.unique(of_subtasks)),
                restarts=int(sizes[of_subtasks].max()),
                records_per_s=rate,
                alone_records=lost,
                alone_share=1 / vertex.parallelism,
            )
        )
    return tuple(made)


def _observed(job: JobCurrent, until: datetime, since: datetime) -> tuple[ObservedRestart, ...]:
    rows = LogEvent.objects.filter(
        cluster=job.cluster, job_id=job.job_id, kind__in=_RESTARTS, ts__gte=since, ts__lte=until
    )
    lines = rows.order_by("-ts", "-id").values_list("ts", "kind", "fields")[:MOST_RESTARTS]
    counted = [(at, kind, (fields or {}).get("count")) for at, kind, fields in lines]
    return tuple(
        ObservedRestart(at, int(count), kind == "global_restart")
        for at, kind, count in counted
        if count
    )
