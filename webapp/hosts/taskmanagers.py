import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.fold.taskmanager_lives import WORDS
from webapp.hosts.lives import lost
from webapp.hosts.lookup import COUNTS
from webapp.hosts.memory_budget import TaskManagerBudget, budget
from webapp.hosts.models import HostEvent
from webapp.hosts.taskmanager_samples import read_taskmanagers
from webapp.lib.messages.rendering import localised

log = logging.getLogger(__name__)

MOST_SAMPLES = 20_000
MOST_TASKMANAGERS, MOST_LOST = 50, 10_000


@dataclass(frozen=True)
class TaskManagerOnHost:
    """``budget``: None without samples in the range. ``lost_by``: one of ``TASKMANAGER_LOSSES``."""

    cluster: str
    taskmanager_id: str
    budget: TaskManagerBudget | None = None
    declines: int = 0
    failures: int = 0
    lost_at: datetime | None = None
    lost_by: str | None = None

    @property
    def lost_words(self) -> str:
        return localised(WORDS[self.lost_by]) if self.lost_by else ""


@dataclass(frozen=True)
class TaskManagersOfTime:
    """``since``: later than requested if there are very many samples. ``unreadable``: the lake did
    not answer. ``left_out``: number beyond the limit.
    """

    rows: Sequence[TaskManagerOnHost]
    since: datetime
    unreadable: bool = False
    left_out: int = 0


def taskmanagers_of(
    host: str, clusters: Sequence[str], start: datetime, end: datetime
) -> TaskManagersOfTime:
    """TaskManagers by cluster and id. Two queries, and one read of the lake per cluster."""
    events_of = _events_by_taskmanager(host, clusters, start, end)
    budgets: dict[tuple[str, str], TaskManagerBudget] = {}
    since, unreadable = start, False
    for cluster in clusters:
        try:
            samples, read_from = read_taskmanagers(
                {"cluster": cluster, "host": host}, start, end, MOST_SAMPLES
            )
        except Exception:  # The lake may raise any error.
            log.exception("Samples of TaskManagers on %s could not be read from the lake", host)
            unreadable = True
            continue
        since = max(since, read_from)
        budgets |= {key: budget(rows) for key, rows in samples.items()}
    keys = sorted(budgets.keys() | events_of.keys(), key=lambda key: (key not in budgets, key))
    rows = [
        TaskManagerOnHost(*key, budgets.get(key), **events_of.get(key, {}))
        for key in keys[:MOST_TASKMANAGERS]
    ]
    return TaskManagersOfTime(rows, since, unreadable, max(len(keys) - MOST_TASKMANAGERS, 0))


def _events_by_taskmanager(
    host: str, clusters: Sequence[str], start: datetime, end: datetime
) -> dict[tuple[str, str], dict[str, Any]]:
    events = HostEvent.objects.filter(
        host=host, cluster__in=clusters, at__gte=start, at__lte=end
    ).exclude(taskmanager_id=None)
    by_taskmanager = events.order_by().values_list("cluster", "taskmanager_id")
    counts = by_taskmanager.annotate(declined=COUNTS["declines"], failed=COUNTS["failures"])
    events_of: dict[tuple[str, str], dict[str, Any]] = {
        (cluster, name): {"declines": declines, "failures": failures}
        for cluster, name, declines, failures in counts[:MOST_LOST]
    }
    losses = lost(start, end).filter(host=host, cluster__in=clusters).order_by("ended_at")
    for life in losses[:MOST_LOST]:
        of_loss = {"lost_at": life.ended_at, "lost_by": life.ended_by}
        events_of.setdefault((life.cluster, life.taskmanager_id), {}).update(of_loss)
    return events_of
