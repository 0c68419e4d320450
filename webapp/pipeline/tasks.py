"""Celery tasks: hints to check a row of due work. A lost, duplicate or late task only changes when
the work is done.
"""

import logging
from datetime import timedelta

from django.utils import timezone

from webapp.config import schedule
from webapp.config.celery import app
from webapp.delivery import outbox
from webapp.findings import cluster_errors, unreachable_clusters, weir_behind
from webapp.findings.models import Finding
from webapp.findings.signals import findings_changed
from webapp.fleet.models import Cluster
from webapp.fleet.pipeline_status import alarms, writability
from webapp.work import registry
from webapp.work.hints import hint
from webapp.work.keys import CYCLE
from webapp.work.models import DueWork
from webapp.work.perform import Performed, perform

logger = logging.getLogger(__name__)


@app.task(name="pipeline.tick", time_limit=120)
def tick() -> None:
    """Create missing rows of due work, hint at due rows, and record that beat and a worker live.
    Also checks Weir itself and clusters, and wakes deliveries and alerts.
    """
    now = timezone.now()
    alarms.note_tick(now)
    intervals = registry.intervals_s()
    DueWork.objects.ensure(intervals, now)
    if mended := DueWork.objects.mend(now):
        logger.warning(
            "The clock was set back: %d entries of due work lay too far ahead and are due again",
            mended,
        )
    Cluster.objects.mend(now)
    DueWork.objects.release_from_the_dead()
    DueWork.objects.exclude(key__in=intervals).filter(lease_until__isnull=True).delete()
    until_next_tick = now + timedelta(seconds=schedule.TICK_S)
    for key, due_at in DueWork.objects.due(now, by=until_next_tick).values_list(
        "key", "next_attempt_at"
    ):
        hint_at(key, due_at - now)
    # Other writers of the lake send no hint.
    hint_at(CYCLE, timedelta(seconds=schedule.TICK_S / 2))
    alarms.record_alarms(writability.problems() + alarms.problems(now), now)
    outbox.wake(now)
    unreachable_clusters.watch(now)
    cluster_errors.watch(now)
    weir_behind.watch(now)
    if Finding.objects.filter(to_alert=True).exists():
        findings_changed.send(sender=None)


def hint_at(key: str, after: timedelta = timedelta()) -> None:
    hint(registry.work_of(key).task, key, after)


def follow(key: str) -> None:
    """Do the work if it is due, or if a hint makes it due."""
    work = registry.work_of(key)
    performed = _perform(key, even_if_not_due=work.when_hinted)
    while performed and work.when_hinted and work.more():
        performed = _perform(key, even_if_not_due=True)
    (work.done if performed else work.missed)(key)


def _perform(key: str, *, even_if_not_due: bool) -> bool:
    try:
        return perform(key, even_if_not_due=even_if_not_due).state != Performed.HELD
    except Exception as error:
        # Recorded in the run and in the row; the row has the next attempt, so Celery must not
        # retry.
        logger.error("%s failed: %s", key, error)
        return False


for _task in registry.tasks():
    app.task(
        name=_task.name, soft_time_limit=_task.limit_s, time_limit=_task.limit_s + _task.grace_s
    )(follow)
