"""TaskManager resources of jobs, used and unused: of one job, of all jobs, and of groups."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.core.cache import cache

from ingest.messages import Message, bytes_text, message
from spark_jobs.diagnosis.window_contents import is_over
from webapp.fleet.models import Cluster, JobCurrent
from webapp.hosts.lives import ended_before
from webapp.hosts.memory_budget import (
    BUSY_GC_RATIO,
    HEAP,
    HOUR,
    MANAGED,
    NETWORK,
    OVERHEAD,
    MemoryPart,
    TaskManagerBudget,
    budget,
    cpu_used,
)
from webapp.hosts.process_memory import (
    Refused,
    Sizes,
    derived_sizes,
    least_network,
    setting_text,
    settings_for,
)
from webapp.hosts.taskmanager_samples import DAY, LOOK_BACK, Samples, has_slots, read_taskmanagers
from webapp.lib import scopes
from webapp.lib.cluster_labels import label_names
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step

LEAST_HOURS = 23
"""Of 24, since a restart of Weir may lose one."""
PEAK = 1.5
"""In multiples of a usual hour. A day without such a peak may lack the usual load."""
GONE = timedelta(minutes=5)
"""A TaskManager has gone if its last sample is older than the newest one by more than this."""
ONE_LISTING = timedelta(seconds=2)
"""TaskManagers of one listing are sampled one after the other."""
_CONFIGURED = (
    "process_memory_bytes",
    "managed_memory_bytes",
    "network_memory_bytes",
    "metaspace_bytes",
    "task_heap_bytes",
    "task_off_heap_bytes",
)


@dataclass(frozen=True)
class Observation:
    """``hours`` of the last day with samples. ``peak_ratio``: CPU time, busiest / median hour."""

    hours: int
    peak_ratio: float | None

    @property
    def shows_peak(self) -> bool:
        return self.hours >= LEAST_HOURS and self.peak_ratio is not None and self.peak_ratio >= PEAK

    @property
    def waits_for(self) -> str:
        if self.hours < LEAST_HOURS:
            return message(
                "What could be saved shows after a day with a peak: samples of {hours:count} h of "
                "the last day were read.",
                hours=self.hours,
            )
        if self.peak_ratio is None:
            return message(
                "What could be saved shows after a day with a peak: whether this day has one is "
                "not known, since its TaskManagers report no CPU time."
            )
        return message(
            "What could be saved shows after a day with a peak: the busiest hour of the last day "
            "took {ratio:decimal1} times the CPU time of the usual one, and {peak:number} times "
            "make a peak.",
            ratio=self.peak_ratio,
            peak=PEAK,
        )


def may_have_slots(row: Mapping[str, Any], job_id: str) -> bool:
    """Whether a sample may have slots of the job. Flink before 1.13 does not report whose they are."""
    return row["allocated_slots"] is None or has_slots(row, job_id)


def present_ids(
    samples: Sequence[Samples], job_id: str, newest: datetime, ended: Collection[tuple[str, str]]
) -> list[str]:
    """Ids of TaskManagers with slots of the job, by their last sample up to ``newest``, when the job
    last had slots. ``ended``: (cluster, id) of TaskManagers that ended.
    """
    last = [[row for row in rows if row["ts"] <= newest + ONE_LISTING][-1:] for rows in samples]
    return [
        row["taskmanager_id"]
        for rows in last
        for row in rows
        if may_have_slots(row, job_id)
        and newest - row["ts"] <= GONE
        and (row["cluster"], row["taskmanager_id"]) not in ended
    ]


def current_samples(samples: Sequence[Samples], present: Collection[str]) -> list[Samples]:
    """Samples of TaskManagers that are configured as one that is ``present``."""
    configured = {
        _configured(rows[-1]) for rows in samples if rows[-1]["taskmanager_id"] in present
    }
    return [rows for rows in samples if _configured(rows[-1]) in configured]


def observe(samples: Sequence[Samples], at: datetime) -> Observation:
    hours: dict[int, list[Samples]] = {}
    for rows in samples:
        by_hour: dict[int, list[Mapping[str, Any]]] = {}
        for row in rows:
            by_hour.setdefault(int((at - row["ts"]) / HOUR), []).append(row)
        for hour, hour_rows in by_hour.items():
            if 0 <= hour < DAY / HOUR:
                hours.setdefault(hour, []).append(hour_rows)
    cores = []
    for taskmanagers in hours.values():
        used = [cpu_used(rows) for rows in taskmanagers]
        if None not in used:
            cores.append(sum(value or 0.0 for value in used))
    usual = median(cores) if cores else 0.0
    return Observation(len(hours), max(cores) / usual if usual else None)


def _configured(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _CONFIGURED)


STATES = ("tight", "unknown", "ok", "spare")
"""A part has the first of these states that it has on any of the job's TaskManagers."""


@dataclass(frozen=True)
class JobResources:
    """``memory_bytes``: the job's share of its TaskManagers' processes, by slots in use;
    ``unused_bytes``: of their unused memory. None is unknown. ``parts``: the largest size and
    highest use on any TaskManager of the last day. ``observation``: None for one moment.
    """

    cluster: str
    job_id: str
    at: datetime
    taskmanagers: Sequence[TaskManagerBudget]
    parts: Sequence[MemoryPart]
    slots: int | None
    memory_bytes: int | None
    unused_bytes: int | None
    cpu_allotted: float | None
    cpu_used: float | None
    observation: Observation | None = None

    @property
    def can_be_lowered(self) -> bool:
        """Whether less memory would suffice, by a long enough observation."""
        observation = self.observation
        return bool(self.unused_bytes) and observation is not None and observation.shows_peak

    @property
    def tight(self) -> list[MemoryPart]:
        return [part for part in self.parts if part.state == "tight"]


@dataclass(frozen=True)
class Group:
    """A group of jobs. Figures are sums over the jobs with known values."""

    name: str
    jobs: int
    slots: int
    memory_bytes: int
    unused_bytes: int
    cpu_allotted: float
    cpu_used: float
    tight: int


def resources_of(
    cluster: str,
    job_id: str,
    budgets: Iterable[TaskManagerBudget],
    observation: Observation | None = None,
    gone: Iterable[TaskManagerBudget] = (),
) -> JobResources | None:
    """None if the job has no slot. ``gone``: its former TaskManagers of the same configuration.
    TaskManagers that do not report slots by job count completely.
    """
    current = [budget for budget in budgets if budget.share(job_id) != 0]
    if not current:
        return None
    parts = combine_parts([*current, *gone])
    per_taskmanager = sum(part.spare_bytes for part in parts)
    shares = [1.0 if (share := budget.share(job_id)) is None else share for budget in current]
    memory_bytes = _weighted_sum((budget.process_bytes for budget in current), shares)
    return JobResources(
        cluster,
        job_id,
        max(budget.at for budget in current),
        sorted(current, key=lambda budget: budget.taskmanager_id),
        parts,
        None
        if any(budget.job_slots is None for budget in current)
        else sum((budget.job_slots or {}).get(job_id, 0) for budget in current),
        None if memory_bytes is None else round(memory_bytes),
        round(per_taskmanager * sum(shares)),
        _weighted_sum(
            (budget.cpu_allotted for budget in current),
            [(budget.job_slots or {}).get(job_id, 0) / (budget.slots or 1) for budget in current],
        ),
        _weighted_sum((budget.cpu_used for budget in current), shares),
        observation,
    )


def combine_parts(budgets: Sequence[TaskManagerBudget]) -> list[MemoryPart]:
    """Parts of equally configured TaskManagers: sizes must suit the one that needs most."""
    memory_parts = []
    for parts in zip(*(each.parts for each in budgets), strict=True):
        state = min((part.state for part in parts), key=STATES.index)
        used = [part.used_bytes for part in parts if part.used_bytes is not None]
        configured = [part.configured_bytes for part in parts if part.configured_bytes is not None]
        suggested = [
            part.suggested_bytes
            for part in parts
            if part.state == state and part.suggested_bytes is not None
        ]
        sufficient = max(suggested, default=None) if state in ("tight", "spare") else None
        memory_parts.append(
            MemoryPart(
                parts[0].name,
                max(configured, default=None),
                max(used, default=None),
                state,
                sufficient,
            )
        )
    return memory_parts


def group_jobs(
    jobs: Iterable[JobResources], group_of: Callable[[JobResources], str]
) -> list[Group]:
    """Groups with most unused memory first."""
    members: dict[str, list[JobResources]] = {}
    for job in jobs:
        members.setdefault(group_of(job), []).append(job)
    groups = [
        Group(
            name,
            len(group),
            sum(job.slots or 0 for job in group),
            sum(job.memory_bytes or 0 for job in group),
            sum(job.unused_bytes or 0 for job in group),
            sum(job.cpu_allotted or 0 for job in group),
            sum(job.cpu_used or 0 for job in group),
            sum(bool(job.tight) for job in group),
        )
        for name, group in members.items()
    ]
    return sorted(groups, key=lambda group: (-group.unused_bytes, group.name))


def _weighted_sum(values: Iterable[float | None], shares: Sequence[float]) -> float | None:
    weighted = [
        None if value is None else value * share
        for value, share in zip(values, shares, strict=True)
    ]
    return None if None in weighted else sum(value or 0 for value in weighted)


log = logging.getLogger(__name__)

CLUSTER = "cluster"
"""The default grouping of jobs. All other groupings are labels of clusters."""
_CACHED_CLASSES = (MemoryPart, TaskManagerBudget, Observation, JobResources, Group)


@dataclass(frozen=True)
class FleetResources:
    """``idle_slots``: free slots of current TaskManagers; ``idle_bytes``: their share of processes."""

    since: datetime
    at: datetime
    taskmanagers: int
    idle_slots: int
    idle_bytes: int
    jobs: Sequence[tuple[str, JobResources]]
    groups: Sequence[Group]


def look_up_resources(job: JobCurrent, until: datetime | None = None) -> JobResources | None:
    """Resources in the last day of the job, up to ``until``; None without samples."""
    at = job.last_seen_at or job.as_of
    at = end_of_step(min(at, until) if until else at)
    key = answer_key("resources", _CACHED_CLASSES, job.cluster, job.job_id, job.as_of, at)
    cached = cache.get(key)
    if isinstance(cached, JobResources):
        return cached
    try:
        samples_by_key, _since = read_taskmanagers({"cluster": job.cluster}, at - DAY, at)
    except Exception:  # The lake may be any storage, with any error.
        log.exception("Samples of TaskManagers of %s could not be read from the lake", job.cluster)
        return None
    samples = list(samples_by_key.values())
    # The last samples have no slots of an ended job.
    with_slots = [
        rows
        for sample in samples
        if (rows := [row for row in sample if may_have_slots(row, job.job_id)])
    ]
    newest = max((rows[-1]["ts"] for rows in with_slots), default=at)
    ended = ended_before(newest if is_over(job.state) else at, at - DAY, job.cluster)
    present = present_ids(samples, job.job_id, newest, ended)
    current = current_samples(with_slots, present)
    resources = resources_of(
        job.cluster,
        job.job_id,
        [budget(rows) for rows in current if rows[-1]["taskmanager_id"] in present],
        observe(current, at),
        [budget(rows) for rows in current if rows[-1]["taskmanager_id"] not in present],
    )
    if resources:
        cache.set(key, resources, KEPT_S)
    return resources


def groupings() -> tuple[str, ...]:
    return (CLUSTER, *(name for name in label_names() if name != CLUSTER))


def look_up_fleet(now: datetime, by: str = CLUSTER) -> FleetResources | None:
    """Jobs with most unused memory first, ``by`` one of :func:`groupings`; None without the lake."""
    at = end_of_step(now)
    key = answer_key("fleet-resources", (*_CACHED_CLASSES, FleetResources), at, by)
    cached = cache.get(key)
    if isinstance(cached, FleetResources):
        return cached
    try:
        samples, since = read_taskmanagers({}, at - LOOK_BACK, at)
    except Exception:
        log.exception("Samples of TaskManagers could not be read from the lake")
        return None
    ended = ended_before(at, at - LOOK_BACK)
    budgets = [
        manager_budget
        for manager_budget in map(budget, samples.values())
        if scopes.current().holds(manager_budget.cluster)
        and (manager_budget.cluster, manager_budget.taskmanager_id) not in ended
    ]
    by_job: dict[tuple[str, str], list[TaskManagerBudget]] = {}
    for manager_budget in budgets:
        for job_id in manager_budget.job_slots or ():
            by_job.setdefault((manager_budget.cluster, job_id), []).append(manager_budget)
    jobs = [
        resources
        for (cluster, job_id), job_budgets in by_job.items()
        if (resources := resources_of(cluster, job_id, job_budgets))
    ]
    cluster_jobs = JobCurrent.objects.filter(cluster__in={cluster for cluster, _ in by_job})
    rows = cluster_jobs.values_list("cluster", "job_id", "name").iterator()
    names = {
        (cluster, job_id): name or ""
        for cluster, job_id, name in rows
        if (cluster, job_id) in by_job
    }
    labels = dict(Cluster.objects.values_list("name", "labels")) if by != CLUSTER else {}
    jobs.sort(key=lambda job: (-(job.unused_bytes or 0), job.cluster, job.job_id))
    idle = [
        (manager_budget, manager_budget.free_slots)
        for manager_budget in budgets
        if manager_budget.free_slots and manager_budget.slots
    ]
    fleet = FleetResources(
        since,
        at,
        len(budgets),
        sum(free for _, free in idle),
        sum(
            round((manager_budget.process_bytes or 0) * free / (manager_budget.slots or 1))
            for manager_budget, free in idle
        ),
        [(names.get((job.cluster, job.job_id)) or job.job_id, job) for job in jobs],
        group_jobs(
            jobs,
            lambda job: (
                job.cluster if by == CLUSTER else str(labels.get(job.cluster, {}).get(by, ""))
            ),
        ),
    )
    cache.set(key, fleet, KEPT_S)
    return fleet


_HEAP_TOLERANCE = 0.12
"""A JVM reports less heap than its setting: some collectors leave out one survivor space."""


def memory_advice(
    resources: JobResources, configuration: Mapping[str, Any] | None, version: str | None
) -> Iterator[str]:
    """Reasons by part, and settings; empty if nothing should change."""
    settings = configuration or {}
    now = _current_sizes(resources, settings, version)
    if now is None:
        yield from (
            message(
                "{reason:message} How Flink derives its size is not known: the sizes of its "
                "TaskManagers do not follow from the recorded configuration. The option is "
                "{option:name}; what is added to it is taken from other parts unless the total is "
                "raised too.",
                reason=_reason(part, resources),
                option=part.option,
            )
            for part in resources.tight
        )
        return
    changed, needed = _needed_memory(resources, now, least_network(settings, version))
    if not changed:
        return
    needed_bytes, current_bytes = sum(needed.values()), sum(now.values())
    no_room = _no_room(resources, needed_bytes) if needed_bytes > current_bytes else None
    new_settings = None if no_room else settings_for(needed, settings, version)
    if new_settings is None:
        yield from (_reason(part, resources) for part in changed if part.state == "tight")
        if no_room:
            yield no_room
        return
    yield from (_reason(part, resources) for part in changed)
    for option, size in new_settings.items():
        yield message(
            "Set {option:name} to {size:name} (now {now:name}).",
            option=option,
            size=setting_text(size),
            now=str(settings[option]) if option in settings else message("not set"),
        )
    yield message(
        "Set together: Flink then derives {then:bytes} for a TaskManager, {heap:bytes} of it heap; "
        "now it has {now:bytes}.",
        then=sum(derived_sizes({**settings, **new_settings}, version).values()),
        heap=needed[HEAP],
        now=current_bytes,
    )


def _current_sizes(
    resources: JobResources, configuration: Mapping[str, Any], version: str | None
) -> Sizes | None:
    """Sizes by the recorded configuration; None if TaskManagers have other sizes."""
    try:
        sizes = derived_sizes(configuration, version)
    except Refused:
        return None
    for part in resources.parts:
        least = (1 - _HEAP_TOLERANCE if part.name == HEAP else 1) * sizes[part.name]
        if part.configured_bytes is None or not least <= part.configured_bytes <= sizes[part.name]:
            return None
    return sizes


def _needed_memory(
    resources: JobResources, now: Sizes, network_bytes: int
) -> tuple[list[MemoryPart], dict[str, int]]:
    changed, needed = [], dict(now)
    for part in resources.parts:
        size = part.suggested_bytes
        if size is None or part.name == OVERHEAD:
            continue
        if part.name == NETWORK:
            size = max(size, network_bytes)
        is_lowered = part.state == "spare" and resources.can_be_lowered and size < now[part.name]
        if is_lowered or (part.state == "tight" and size > now[part.name]):
            needed[part.name] = size
            changed.append(part)
    return changed, needed


def _no_room(resources: JobResources, process_bytes: int) -> Message | None:
    on_host = Counter(taskmanager.host for taskmanager in resources.taskmanagers)
    for taskmanager in resources.taskmanagers:
        count, physical = on_host[taskmanager.host], taskmanager.physical_bytes
        if taskmanager.host and physical and count * process_bytes > physical:
            return message(
                "More does not fit: {host:name} has {physical:bytes}, and each of its "
                "TaskManagers ({count:count}) would take {process:bytes}. Give each fewer slots, "
                "or the job more hosts.",
                host=taskmanager.host,
                physical=physical,
                count=count,
                process=process_bytes,
            )
    return None


def _reason(part: MemoryPart, resources: JobResources) -> Message:
    gc_ratio = max(
        (taskmanager.gc_ratio or 0.0 for taskmanager in resources.taskmanagers), default=0.0
    )
    sizes = {
        "part": part.name,
        "used": message("unknown") if part.used_bytes is None else bytes_text(part.used_bytes),
        "now": message("unknown")
        if part.configured_bytes is None
        else bytes_text(part.configured_bytes),
    }
    if part.state == "tight" and part.name == HEAP and gc_ratio >= BUSY_GC_RATIO:
        return message(
            "Too little {part:name}: collections take {share:share} of the time, and leave "
            "{used:message} of {now:message} in use.",
            share=gc_ratio,
            **sizes,
        )
    if part.state == "tight":
        return message("Too little {part:name}: {used:message} of {now:message} are used.", **sizes)
    if part.name == MANAGED:
        return message("Nothing reserves managed memory; it has {now:message}.", now=sizes["now"])
    if part.name == HEAP:
        return message(
            "More {part:name} than needed: a collection leaves {used:message} of {now:message}.",
            **sizes,
        )
    return message(
        "More {part:name} than needed: at most used are {used:message} of {now:message}.", **sizes
    )
