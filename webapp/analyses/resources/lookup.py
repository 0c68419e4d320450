"""Resources of a job and of the fleet for whoever asks: read from the lake, and kept for a
moment.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache

from spark_jobs.diagnosis.window_contents import is_over
from webapp.analyses.resources.job_resources import (
    Group,
    JobResources,
    Observed,
    first_word,
    grouped,
    had_slots,
    observed,
    of_now,
    resources_of,
    there,
)
from webapp.fleet.cluster_labels import label_names
from webapp.fleet.models import Cluster, JobCurrent
from webapp.hosts.lives import ended_before
from webapp.hosts.memory_budget import MemoryPart, TaskManagerBudget, budget
from webapp.hosts.taskmanager_samples import DAY, LOOK_BACK, read_taskmanagers
from webapp.lib import scopes
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step

log = logging.getLogger(__name__)

BY = ("cluster", "name")
"""What all jobs can be grouped by: the cluster, the first word of the job's name; and any label of
clusters.
"""
_MADE_OF = (MemoryPart, TaskManagerBudget, Observed, JobResources, Group)


@dataclass(frozen=True)
class FleetResources:
    """``idle_slots``, ``idle_bytes``: of TaskManagers that are there, slots that no job has, and
    their share of the processes.
    """

    since: datetime
    at: datetime
    taskmanagers: int
    idle_slots: int
    idle_bytes: int
    jobs: Sequence[tuple[str, JobResources]]
    groups: Sequence[Group]


def look_up_resources(job: JobCurrent, until: datetime | None = None) -> JobResources | None:
    """As of the last day in which the job was seen, up to ``until``; None where no TaskManager of
    it was sampled then.
    """
    at = job.last_seen_at or job.as_of
    at = end_of_step(min(at, until) if until else at)
    key = answer_key("resources", _MADE_OF, job.cluster, job.job_id, job.as_of, at)
    kept = cache.get(key)
    if isinstance(kept, JobResources):
        return kept
    try:
        samples, since = read_taskmanagers(at, job.cluster, DAY)
    except Exception:  # The lake may be any storage, with any error.
        log.exception("Samples of TaskManagers of %s could not be read from the lake", job.cluster)
        return None
    # An ended job has no slots any more in what was sampled last.
    had = [
        rows
        for sample in samples
        if (rows := [row for row in sample if had_slots(row, job.job_id)])
    ]
    newest = max((rows[-1]["ts"] for rows in had), default=at)
    ended = ended_before(newest if is_over(job.state) else at, at - DAY, job.cluster)
    present = there(samples, job.job_id, newest, ended)
    own = of_now(had, present)
    resources = resources_of(
        job.cluster,
        job.job_id,
        [budget(rows) for rows in own if rows[-1]["taskmanager_id"] in present],
        observed(own, at, since),
        [budget(rows) for rows in own if rows[-1]["taskmanager_id"] not in present],
    )
    if resources:
        cache.set(key, resources, KEPT_S)
    return resources


def groupings() -> tuple[str, ...]:
    return (*BY, *(name for name in label_names() if name not in BY))


def look_up_fleet(now: datetime, by: str = BY[0]) -> FleetResources | None:
    """All jobs that have slots, most unused memory first; ``by`` one of :func:`groupings`.

    None where the lake could not be read.
    """
    at = end_of_step(now)
    key = answer_key("fleet-resources", (*_MADE_OF, FleetResources), at, by)
    kept = cache.get(key)
    if isinstance(kept, FleetResources):
        return kept
    try:
        samples, since = read_taskmanagers(at)
    except Exception:
        log.exception("Samples of TaskManagers could not be read from the lake")
        return None
    ended = ended_before(at, at - LOOK_BACK)
    every = [
        manager_budget
        for manager_budget in map(budget, samples)
        if scopes.current().holds(manager_budget.cluster)
        and (manager_budget.cluster, manager_budget.taskmanager_id) not in ended
    ]
    of_job: dict[tuple[str, str], list[TaskManagerBudget]] = {}
    for manager_budget in every:
        for job_id in manager_budget.job_slots or ():
            of_job.setdefault((manager_budget.cluster, job_id), []).append(manager_budget)
    jobs = [
        resources
        for (cluster, job_id), own in of_job.items()
        if (resources := resources_of(cluster, job_id, own))
    ]
    of_clusters = JobCurrent.objects.filter(cluster__in={cluster for cluster, _ in of_job})
    rows = of_clusters.values_list("cluster", "job_id", "name").iterator()
    names = {
        (cluster, job_id): name or ""
        for cluster, job_id, name in rows
        if (cluster, job_id) in of_job
    }
    group_of = {
        "cluster": lambda job: job.cluster,
        "name": lambda job: first_word(names.get((job.cluster, job.job_id)) or ""),
    }
    if by not in BY:
        labels = dict(Cluster.objects.values_list("name", "labels"))
        group_of[by] = lambda job: str(labels.get(job.cluster, {}).get(by, ""))
    jobs.sort(key=lambda job: (-(job.unused_bytes or 0), job.cluster, job.job_id))
    idle = [
        (manager_budget, manager_budget.free_slots)
        for manager_budget in every
        if manager_budget.free_slots and manager_budget.slots
    ]
    found_fleet = FleetResources(
        since,
        at,
        len(every),
        sum(free for _, free in idle),
        sum(
            round((manager_budget.process_bytes or 0) * free / (manager_budget.slots or 1))
            for manager_budget, free in idle
        ),
        [(names.get((job.cluster, job.job_id)) or job.job_id, job) for job in jobs],
        grouped(jobs, group_of[by]),
    )
    cache.set(key, found_fleet, KEPT_S)
    return found_fleet
