from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import DateTimeField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from spark_jobs.fold.taskmanager_lives import WORDS
from spark_jobs.serving import TASKMANAGER_LOSSES
from webapp.fleet.attempts import Job
from webapp.fleet.models import JobAnnotation
from webapp.hosts.models import TaskManagerLife
from webapp.lib.messages.rendering import localised

MOST_AT_ONCE = 500
_DATED_WITHIN = timedelta(seconds=1)
"""Annotations are dated to the full second."""


def lost(start: datetime, end: datetime) -> "QuerySet[TaskManagerLife]":
    """TaskManagers lost in the range; one that shut down counts only if a job had tasks there."""
    annotations = JobAnnotation.objects.filter(
        cluster=OuterRef("cluster"),
        kind=TASKMANAGER_LOST,
        subject=OuterRef("taskmanager_id"),
        at__gt=ExpressionWrapper(OuterRef("ended_at") - _DATED_WITHIN, DateTimeField()),
        at__lte=OuterRef("ended_at"),
    )
    return TaskManagerLife.objects.filter(
        ~Q(ended_by="shut_down") | Q(Exists(annotations)),
        ended_by__in=TASKMANAGER_LOSSES,
        ended_at__gte=start,
        ended_at__lte=end,
    )


def jobs_that_lost(
    losses: Sequence[TaskManagerLife],
) -> Iterator[tuple[TaskManagerLife, list[Job]]]:
    """Each loss with the jobs that had tasks there, by their annotations."""
    for first in range(0, len(losses), MOST_AT_ONCE):
        lives = losses[first : first + MOST_AT_ONCE]
        instants = [life.ended_at for life in lives if life.ended_at]
        annotations = JobAnnotation.objects.filter(
            cluster__in={life.cluster for life in lives},
            kind=TASKMANAGER_LOST,
            subject__in={life.taskmanager_id for life in lives},
            at__gte=min(instants) - _DATED_WITHIN,
            at__lte=max(instants),
        )
        jobs_of: dict[tuple[str, str], list[tuple[datetime, str]]] = defaultdict(list)
        for cluster, name, at, job_id in annotations.order_by("job_id").values_list(
            "cluster", "subject", "at", "job_id"
        ):
            jobs_of[cluster, name].append((at, job_id))
        for life in lives:
            ended_at = life.ended_at
            jobs = [
                (life.cluster, job_id)
                for at, job_id in jobs_of[life.cluster, life.taskmanager_id]
                if ended_at and at <= ended_at < at + _DATED_WITHIN
            ]
            yield life, jobs


def ended_before(at: datetime, since: datetime, cluster: str | None = None) -> set[tuple[str, str]]:
    """(cluster, id) of TaskManagers whose newest life ended between ``since`` and ``at``."""
    lives = TaskManagerLife.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=since), Q(born_at=None) | Q(born_at__lte=at)
    )
    if cluster is not None:
        lives = lives.filter(cluster=cluster)
    rows = lives.order_by("life").values_list("cluster", "taskmanager_id", "ended_at")
    newest_ends = {(of_cluster, name): ended_at for of_cluster, name, ended_at in rows}
    return {key for key, ended_at in newest_ends.items() if ended_at and ended_at <= at}


def ended_words(life: TaskManagerLife) -> str:
    """How the life ended; empty if it has not."""
    code = life.ended_by or ""
    return localised(WORDS[code]) if code in WORDS else code.replace("_", " ")
