"""All work there is. Each feature registers its own in a module ``due_work``: which keys, how
often, on which queue, what does it.

A ``Work`` has its keys, how often it is due, its ``Task`` (queue and time limit), and what does it:
a function in a module beside it that takes ``now``. ``do(lease, record)`` is recorded as a run:
``record.say`` is its log, ``record.counts`` what the pipeline page shows. Rows, hints, leases and
that page follow. What others need to know of it stands in a module that imports nothing heavy. A
test makes the row by ``DueWork.objects.ensure``, does the work by ``perform``
(:mod:`webapp.work.perform`) and reads ``PipelineRun.counts``.
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
"""For what any feature does now and then, without Spark and without a worker of its own."""


@dataclass(frozen=True)
class ClaimedWork:
    """A claimed piece of work and how its claim came about.

    ``by_hand``: it was requested now, whatever its row says.
    """

    lease: Lease
    by_hand: bool = False

    @property
    def key(self) -> str:
        return self.lease.key


@dataclass(frozen=True)
class Ended:
    """How an attempt went, for what follows from it. ``idle``: there was nothing to do."""

    lease: Lease
    began: datetime
    ended: datetime
    idle: bool


@dataclass(frozen=True)
class Work:
    """One kind of due work.

    ``prefix``: its key, or what its keys begin with. ``every``: key → seconds between two runs, of
    all that should be running now. ``has_work`` is asked after the claim and costs little. ``do``
    is recorded as a run; ``look`` instead of it keeps a history of its own. ``next_at``: when it is
    due again, None for an interval after its end. ``when_hinted``: a hint is followed even where
    the row is not due yet. ``more``: asked after a look that was a hint's, and looked again where
    it says so. ``done`` gets the key once a hinted run ended well, ``missed`` where it failed or
    was held elsewhere.
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
    """Called by a feature's ``due_work``.

    Raises ``ValueError`` if two say what one key means.
    """
    for work in works:
        if _WORKS.setdefault(work.prefix, work) is not work:
            raise ValueError(f"Two kinds of due work are registered for {work.prefix}.")


def works() -> tuple[Work, ...]:
    """Everything that any feature registered."""
    _discover()
    return tuple(_WORKS.values())


def work_of(key: str) -> Work:
    """The kind of work that a key belongs to: the longest prefix wins.

    Raises ``ValueError`` if nobody knows it.
    """
    known = [work for work in works() if key.startswith(work.prefix)]
    if not known:
        raise ValueError(f"Nobody knows how to do {key}.")
    return max(known, key=lambda work: len(work.prefix))


def intervals_s() -> dict[str, int]:
    """Key → seconds between two runs, for everything that should be running now."""
    return {key: seconds for work in works() for key, seconds in work.every().items()}


def tasks() -> tuple[Task, ...]:
    """Every Celery task that does work, once.

    Raises ``ValueError`` if two of one name have not the same queue and limits.
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
