"""Lost TaskManagers, when and to which jobs, and those that had ended at a time."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import (
    DateTimeField,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
)

from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from spark_jobs.fold.taskmanager_lives import WORDS
from spark_jobs.serving import TASKMANAGER_LOSSES
from webapp.fleet.models import JobAnnotation
from webapp.hosts.models import TaskManagerLife
from webapp.lib.messages.rendering import localised

MOST_AT_ONCE = 500
_DATED_WITHIN = timedelta(seconds=1)
"""Annotations are dated to the full second."""

Job = tuple[str, str]


def lost(start: datetime, end: datetime) -> "QuerySet[TaskManagerLife]":
    """TaskManagers lost in the range. One that shut down is lost only to jobs with tasks there:
    after their end the shutdown is normal.
    """
    marked = JobAnnotation.objects.filter(
        cluster=OuterRef("cluster"),
        kind=TASKMANAGER_LOST,
        subject=OuterRef("taskmanager_id"),
        at__gt=ExpressionWrapper(OuterRef("ended_at") - _DATED_WITHIN, DateTimeField()),
        at__lte=OuterRef("ended_at"),
    )
    return TaskManagerLife.objects.filter(
        ~Q(ended_by="shut_down") | Q(Exists(marked)),
        ended_by__in=TASKMANAGER_LOSSES,
        ended_at__gte=start,
        ended_at__lte=end,
    )


def jobs_that_lost(
    losses: Sequence[TaskManagerLife],
) -> Iterator[tuple[TaskManagerLife, list[Job]]]:
    """Each with the jobs that had tasks there, by their annotations. One query for all."""
    for first in range(0, len(losses), MOST_AT_ONCE):
        some = losses[first : first + MOST_AT_ONCE]
        instants = [life.ended_at for life in some if life.ended_at]
        marks = JobAnnotation.objects.filter(
            cluster__in={life.cluster for life in some},
            kind=TASKMANAGER_LOST,
            subject__in={life.taskmanager_id for life in some},
            at__gte=min(instants) - _DATED_WITHIN,
            at__lte=max(instants),
        )
        marked: dict[tuple[str, str], list[tuple[datetime, str]]] = defaultdict(list)
        for cluster, name, marked_at, job_id in marks.order_by("job_id").values_list(
            "cluster", "subject", "at", "job_id"
        ):
            marked[cluster, name].append((marked_at, job_id))
        for life in some:
            at = life.ended_at
            yield (
                life,
                [
                    (life.cluster, job_id)
                    for marked_at, job_id in marked[life.cluster, life.taskmanager_id]
                    if at and marked_at <= at < marked_at + _DATED_WITHIN
                ],
            )


def ended_before(at: datetime, since: datetime, cluster: str | None = None) -> set[tuple[str, str]]:
    """(cluster, id) of TaskManagers whose newest life had ended by ``at``, but not before
    ``since``. One query.
    """
    begun = TaskManagerLife.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=since), Q(born_at=None) | Q(born_at__lte=at)
    )
    if cluster is not None:
        begun = begun.filter(cluster=cluster)
    ends = {
        (of_cluster, name): ended_at
        for of_cluster, name, ended_at in begun.order_by("life").values_list(
            "cluster", "taskmanager_id", "ended_at"
        )
    }
    return {place for place, ended_at in ends.items() if ended_at is not None and ended_at <= at}


def ended_words(life: TaskManagerLife) -> str:
    """Empty while it lives."""
    code = life.ended_by or ""
    return localised(WORDS[code]) if code in WORDS else code.replace("_", " ")
