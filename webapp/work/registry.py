"""All due work. Each feature registers its kinds of work in its module ``due_work``.

A ``Work`` has its keys, how often it is due, its ``Task`` (queue and time limit), and the function
that does it. Rows, hints, leases and an entry of the pipeline page follow from the declaration.
``do(lease, record)`` is recorded as a run: ``record.say`` writes its log, and the pipeline page
shows ``record.counts``. Keys that other modules need belong in a module without heavy imports. A
test creates the row by ``DueWork.objects.ensure``, does the work by ``perform``
(:mod:`webapp.work.perform`) and reads ``PipelineRun.counts``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from django.utils.module_loading import autodiscover_modules

from webapp.config import schedule
from webapp.work.hints import Task
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400

MAINTAIN_TASK = Task("pipeline.maintain", schedule.DEFAULT, HOUR_S)
"""For features' occasional work, without Spark and without a separate worker."""


@dataclass(frozen=True)
class ClaimedWork:
    """``by_hand``: a command or a hint started the work, which need not be due."""

    lease: Lease
    by_hand: bool = False

    @property
    def key(self) -> str:
        return self.lease.key


@dataclass(frozen=True)
class FinishedAttempt:
    """The end of an attempt. ``is_idle``: no run was recorded."""

    lease: Lease
    started_at: datetime
    ended_at: datetime
    is_idle: bool

    @property
    def interval(self) -> timedelta:
        return timedelta(seconds=self.lease.interval_s)


@dataclass(frozen=True)
class Work:
    """One kind of due work.

    ``prefix``: its key, or the prefix of its keys. ``every``: key → seconds between two runs, for
    all current keys. ``has_work`` is called after the claim and must be cheap. ``do`` is recorded
    as a run; ``look`` is the alternative for work that keeps a history of its own. ``next_at``:
    when the work is due again; None: one interval after its end. ``when_hinted``: a hint is
    followed even if the row is not due; then ``more`` decides whether the work is repeated at once.
    ``done`` gets the key after a hint was followed; ``missed`` gets it if the attempt failed,
    another process held the work, or it was not due.
    """

    prefix: str
    task: Task
    every: Callable[[], Mapping[str, int]]
    do: Callable[[Lease, RunRecord], object] | None = None
    look: Callable[[Lease], object] | None = None
    has_work: Callable[[ClaimedWork], bool] = lambda _attempt: True
    next_at: Callable[[FinishedAttempt], datetime | None] = lambda _attempt: None
    when_hinted: bool = False
    more: Callable[[], bool] = lambda: False
    done: Callable[[str], None] = lambda _key: None
    missed: Callable[[str], None] = lambda _key: None


_WORKS: dict[str, Work] = {}


def register(*works: Work) -> None:
    """Called by a feature's ``due_work``. Raises ``ValueError`` if two declare the same key."""
    for work in works:
        if _WORKS.setdefault(work.prefix, work) is not work:
            raise ValueError(f"Two kinds of due work are registered for {work.prefix}.")


def works() -> tuple[Work, ...]:
    _discover()
    return tuple(_WORKS.values())


def work_of(key: str) -> Work:
    """The longest prefix wins. Raises ``ValueError`` if there is none."""
    candidates = [work for work in works() if key.startswith(work.prefix)]
    if not candidates:
        raise ValueError(f"Nobody knows how to do {key}.")
    return max(candidates, key=lambda work: len(work.prefix))


def intervals_s() -> dict[str, int]:
    """Key → seconds between two runs, for all current keys."""
    return {key: seconds for work in works() for key, seconds in work.every().items()}


def tasks() -> tuple[Task, ...]:
    """Each Celery task once. Raises ``ValueError`` if two tasks of the same name differ."""
    tasks_by_name: dict[str, Task] = {}
    for work in works():
        if tasks_by_name.setdefault(work.task.name, work.task) != work.task:
            raise ValueError(
                f"Two tasks are called {work.task.name}, with another queue or other limits."
            )
    return tuple(tasks_by_name.values())


@cache
def _discover() -> None:
    autodiscover_modules("due_work")
