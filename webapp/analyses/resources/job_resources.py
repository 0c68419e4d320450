"""What jobs have of their TaskManagers, what they use, and what they do not: of one job, of all
jobs, and of groups of them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from ingest.messages import message
from webapp.hosts.memory_budget import HOUR, MemoryPart, TaskManagerBudget, cpu_used
from webapp.hosts.taskmanager_samples import DAY, Samples, has_slots

LEAST_HOURS = 23
"""Of 24: one may be lost with a restart of Weir."""
PEAK = 1.5
"""Times the usual hour: a day without such an hour may be one without its load."""
GONE = timedelta(minutes=5)
"""Without a sample for so long before the newest one, a TaskManager is not there any more."""
ONE_LISTING = timedelta(seconds=2)
"""TaskManagers that are listed together are asked for one after the other."""
_CONFIGURED = (
    "process_memory_bytes",
    "managed_memory_bytes",
    "network_memory_bytes",
    "metaspace_bytes",
    "task_heap_bytes",
    "task_off_heap_bytes",
)


@dataclass(frozen=True)
class Observed:
    """``hours``: of the last day, with samples. ``peak_ratio``: CPU time of the busiest hour over
    that of the usual one, None where unknown. ``is_cut``: a day of its cluster is more than is
    read.
    """

    hours: int
    peak_ratio: float | None
    is_cut: bool = False

    @property
    def shows_peak(self) -> bool:
        return self.hours >= LEAST_HOURS and self.peak_ratio is not None and self.peak_ratio >= PEAK

    @property
    def waits_for(self) -> str:
        if self.hours < LEAST_HOURS and self.is_cut:
            return message(
                "What could be saved shows after a day with a peak: its cluster has more samples "
                "of TaskManagers than are read, {hours:count} h of the last day.",
                hours=self.hours,
            )
        if self.hours < LEAST_HOURS:
            return message(
                "What could be saved shows after a day with a peak: {hours:count} of its hours "
                "were sampled so far.",
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


def had_slots(row: Mapping[str, Any], job_id: str) -> bool:
    """Before Flink 1.13 no sample says whose its slots are: any job may have them."""
    return row["allocated_slots"] is None or has_slots(row, job_id)


def there(
    samples: Sequence[Samples], job_id: str, newest: datetime, ended: Collection[tuple[str, str]]
) -> list[str]:
    """Ids of the TaskManagers that the job has slots on: by their newest sample, up to ``newest``,
    when it had any last. ``ended``: cluster and id of those that do not live any more.
    """
    last = [[row for row in own if row["ts"] <= newest + ONE_LISTING][-1:] for own in samples]
    return [
        row["taskmanager_id"]
        for rows in last
        for row in rows
        if had_slots(row, job_id)
        and newest - row["ts"] <= GONE
        and (row["cluster"], row["taskmanager_id"]) not in ended
    ]


def of_now(samples: Sequence[Samples], present: Collection[str]) -> list[Samples]:
    """Without TaskManagers that are not ``present`` and had another configuration than those that
    are.
    """
    configured = {_configured(own[-1]) for own in samples if own[-1]["taskmanager_id"] in present}
    return [own for own in samples if _configured(own[-1]) in configured]


def observed(samples: Sequence[Samples], at: datetime, since: datetime | None = None) -> Observed:
    """``since``: from when on samples were read, where that is less than a day."""
    hours: dict[int, list[Samples]] = {}
    for own in samples:
        of_hour: dict[int, list[Mapping[str, Any]]] = {}
        for row in own:
            of_hour.setdefault(int((at - row["ts"]) / HOUR), []).append(row)
        for hour, rows in of_hour.items():
            if 0 <= hour < DAY / HOUR:
                hours.setdefault(hour, []).append(rows)
    cores = [
        sum(known)
        for rows in hours.values()
        if len(known := [used for own in rows if (used := cpu_used(own)) is not None]) == len(rows)
    ]
    usual = median(cores) if cores else 0.0
    is_cut = since is not None and at - since < DAY
    return Observed(len(hours), max(cores) / usual if usual else None, is_cut)


def _configured(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _CONFIGURED)


STATES = ("tight", "unknown", "ok", "spare")
"""Of TaskManagers that are configured alike, the first of these that any is in counts."""
_WORD = re.compile(r"[^-_./:\s]+")


@dataclass(frozen=True)
class JobResources:
    """``memory_bytes``: its share of its TaskManagers' processes, by slots in use; ``unused_bytes``
    its share of what they did not use. None is unknown. ``parts``: as large as the largest
    TaskManager has them, used by the one that uses most, with those of the last day that are gone.
    ``observed``: None where only a moment of the day was looked at.
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
    observed: Observed | None = None

    @property
    def can_be_lowered(self) -> bool:
        """Somewhat less would be enough, and they were seen for long enough to say so."""
        return bool(self.unused_bytes) and self.observed is not None and self.observed.shows_peak

    @property
    def tight(self) -> list[MemoryPart]:
        return [part for part in self.parts if part.state == "tight"]


@dataclass(frozen=True)
class Group:
    """Jobs that belong together: figures are sums over those of which they are known."""

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
    observed: Observed | None = None,
    gone: Iterable[TaskManagerBudget] = (),
) -> JobResources | None:
    """None where the job has no slot. ``gone``: TaskManagers that it had before, configured alike.

    TaskManagers that do not say whose their slots are count as a whole.
    """
    own = [budget for budget in budgets if budget.share(job_id) != 0]
    if not own:
        return None
    parts = together([*own, *gone])
    per_taskmanager = sum(part.spare_bytes for part in parts)
    shares = [1.0 if (share := budget.share(job_id)) is None else share for budget in own]
    return JobResources(
        cluster,
        job_id,
        max(budget.at for budget in own),
        sorted(own, key=lambda budget: budget.taskmanager_id),
        parts,
        None
        if any(budget.job_slots is None for budget in own)
        else sum((budget.job_slots or {}).get(job_id, 0) for budget in own),
        _whole(_weighted((budget.process_bytes for budget in own), shares)),
        round(per_taskmanager * sum(shares)),
        _weighted(
            (budget.cpu_allotted for budget in own),
            [(budget.job_slots or {}).get(job_id, 0) / (budget.slots or 1) for budget in own],
        ),
        _weighted((budget.cpu_used for budget in own), shares),
        observed,
    )


def together(budgets: Sequence[TaskManagerBudget]) -> list[MemoryPart]:
    """Parts of TaskManagers that have one configuration: it has to suit the one that needs most."""
    memory_parts = []
    for same in zip(*(budget.parts for budget in budgets), strict=True):
        state = min((part.state for part in same), key=STATES.index)
        used = [part.used_bytes for part in same if part.used_bytes is not None]
        configured = [part.configured_bytes for part in same if part.configured_bytes is not None]
        suggested = [
            part.suggested_bytes
            for part in same
            if part.state == state and part.suggested_bytes is not None
        ]
        enough = max(suggested, default=None) if state in ("tight", "spare") else None
        memory_parts.append(
            MemoryPart(
                same[0].name, max(configured, default=None), max(used, default=None), state, enough
            )
        )
    return memory_parts


def first_word(name: str) -> str:
    """Of a job's name, where teams begin theirs with one: ``orders`` of ``orders-enrich``."""
    match = _WORD.search(name)
    return match[0] if match else ""


def grouped(jobs: Iterable[JobResources], group_of: Callable[[JobResources], str]) -> list[Group]:
    """Most that is unused first."""
    members: dict[str, list[JobResources]] = {}
    for job in jobs:
        members.setdefault(group_of(job), []).append(job)
    groups = [
        Group(
            name,
            len(of),
            sum(job.slots or 0 for job in of),
            sum(job.memory_bytes or 0 for job in of),
            sum(job.unused_bytes or 0 for job in of),
            sum(job.cpu_allotted or 0 for job in of),
            sum(job.cpu_used or 0 for job in of),
            sum(bool(job.tight) for job in of),
        )
        for name, of in members.items()
    ]
    return sorted(groups, key=lambda group: (-group.unused_bytes, group.name))


def _weighted(values: Iterable[float | None], shares: Sequence[float]) -> float | None:
    known = [
        None if value is None else value * share
        for value, share in zip(values, shares, strict=True)
    ]
    return None if None in known else sum(value or 0 for value in known)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
