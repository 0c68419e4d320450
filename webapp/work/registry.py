"""All due work. Each feature registers its own in a module ``due_work``.

A ``Work`` has its keys, how often it is due, its ``Task`` (queue and time limit), and what does it:
a function in a module beside it that takes ``now``. ``do(lease, record)`` is recorded as a run:
``record.say`` is its log, ``record.counts`` what the pipeline page shows. Rows, hints, leases and
that page follow. Names that others need belong in a module without heavy imports. A test makes the
row by ``DueWork.objects.ensure``, does the work by ``perform`` (:mod:`webapp.work.perform`) and
reads ``PipelineRun.counts``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
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
    lease: Lease
    by_hand: bool = False

    @property
    def key(self) -> str:
        return self.lease.key


@dataclass(frozen=True)
class Ended:
    """The result of an attempt. ``idle``: there was nothing to do."""

    lease: Lease
    began: datetime
    ended: datetime
    idle: bool


@dataclass(frozen=True)
class Work:
    """One kind of due work.

    ``prefix``: its key, or the prefix of its keys. ``every``: key → seconds between two runs, for
    all current keys. ``has_work`` is called after the claim and must be cheap. ``do`` is recorded
    as a run; ``look`` is an alternative with its own history. ``next_at``: when it is due again,
    None for an interval after its end. ``when_hinted``: hints are followed even if the row is not
    due. ``more``: called after a hinted ``look``, to decide whether to repeat it. ``done`` gets the
    key after a successful hinted run, ``missed`` after one that failed or was held elsewhere.
    """

    prefix: str
    task: Task
    every: Callable[[], Mapping[str, int]]
    do: Callable[[Lease, RunRecord], object] | None = None
    look: Callable[[Lease], object] | None = None
    has_work: Callable[[ClaimedWork], bool] = lambda _attempt: True
    next_at: Callable[[Ended], datetime | None] = lambda _ended: None
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
    """All registered work."""
    _discover()
    return tuple(_WORKS.values())


def work_of(key: str) -> Work:
    """The kind of work of a key: the longest prefix wins. Raises ``ValueError`` if it is unknown."""
    known = [work for work in works() if key.startswith(work.prefix)]
    if not known:
        raise ValueError(f"Nobody knows how to do {key}.")
    return max(known, key=lambda work: len(work.prefix))


def intervals_s() -> dict[str, int]:
    """Key → seconds between two runs, for all current keys."""
    return {key: seconds for work in works() for key, seconds in work.every().items()}


def tasks() -> tuple[Task, ...]:
    """Every Celery task of due work, once. Raises ``ValueError`` if two of the same name differ in
    queue or limits.
    """
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
