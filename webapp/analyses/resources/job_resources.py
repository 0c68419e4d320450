"""What jobs have of their TaskManagers, what they use, and what they do not: of one job, of all
jobs, and of groups of them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from webapp.analyses.resources.observed import Observed
from webapp.hosts.memory_budget import MemoryPart, TaskManagerBudget

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
