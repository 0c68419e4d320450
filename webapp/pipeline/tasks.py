"""Celery tasks: hints to look at a row. Lost, doubled or late, they change nothing but the time."""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from webapp.alerting import waking
from webapp.config import hints, schedule
from webapp.config.celery import app
from webapp.delivery import outbox
from webapp.findings import blind
from webapp.findings.models import Finding
from webapp.pipeline import audit, work, writing
from webapp.pipeline.models import DueWork, Heartbeat
from webapp.pipeline.perform import Performed, perform

logger = logging.getLogger(__name__)

COLLECT_LIMIT_S = 300
MAINTAIN_LIMIT_S = 3600
REPORT_LIMIT_S = 600
DELIVER_LIMIT_S = 300
EVALUATE_LIMIT_S = 600
LIST_LIMIT_S = 12 * 3600
LOAD_LIMIT_S = 1800

SHORTLY = timedelta(seconds=1)


@app.task(name="pipeline.tick", time_limit=120)
def tick() -> None:
    """Make missing rows, hint at due ones, note that beat and a worker live, and look after the others."""
    now = timezone.now()
    Heartbeat.objects.update_or_create(name=audit.TICK, defaults={"at": now})
    intervals = work.intervals_s()
    DueWork.objects.ensure(intervals, now)
    if mended := DueWork.objects.mend(now):
        logger.warning("The clock was set back: %d entries of due work lay too far ahead and are due again", mended)
    DueWork.objects.exclude(key__in=intervals).filter(lease_until__isnull=True).delete()
    until_next_tick = now + timedelta(seconds=schedule.TICK_S)
    for key, due_at in DueWork.objects.due(now, by=until_next_tick).values_list("key", "next_attempt_at"):
        hint(key, due_at - now)
    # Who writes into the lake from elsewhere tells nobody.
    hint(work.SPARK_CYCLE, timedelta(seconds=schedule.TICK_S / 2))
    outbox.wake(now)
    audit.record_alarms(writing.problems() + audit.problems(now), now)
    blind.watch(now)
    if Finding.objects.filter(to_alert=True).exists():
        waking.hint()


def hint(key: str, after: timedelta = timedelta()) -> None:
    """Tell a worker of the right queue."""
    hints.hint(work.TASK_OF_KIND[key.partition("/")[0]], key, work.queue_of(key), after)


@app.task(name="pipeline.collect", soft_time_limit=COLLECT_LIMIT_S, time_limit=COLLECT_LIMIT_S + 30)
def collect(key: str) -> None:
    if _perform(key):
        hint(work.SPARK_CYCLE)
        _hint_at_the_next(key)


@app.task(
    name="pipeline.spark_cycle",
    soft_time_limit=settings.WEIR.spark_timeout_s + LOAD_LIMIT_S,
    time_limit=settings.WEIR.spark_timeout_s + LOAD_LIMIT_S + 60,
)
def spark_cycle(key: str) -> None:
    if _perform(key):
        _hint_at_the_next(key)


@app.task(
    name="pipeline.roll_up",
    soft_time_limit=settings.WEIR.spark_timeout_s + LOAD_LIMIT_S,
    time_limit=settings.WEIR.spark_timeout_s + LOAD_LIMIT_S + 60,
)
def roll_up(key: str) -> None:
    _perform(key)


@app.task(
    name="pipeline.audit_storage",
    soft_time_limit=LIST_LIMIT_S + settings.WEIR.spark_timeout_s + LOAD_LIMIT_S,
    time_limit=LIST_LIMIT_S + settings.WEIR.spark_timeout_s + LOAD_LIMIT_S + 60,
)
def audit_storage(key: str) -> None:
    _perform(key)


@app.task(name="alerts.evaluate", soft_time_limit=EVALUATE_LIMIT_S, time_limit=EVALUATE_LIMIT_S + 30)
def evaluate(key: str) -> None:
    """Findings into alerts, alerts into notices, whenever somebody says that there is something new.

    What is said while another look ends may be too late for that one.
    """
    if not _perform(key, even_if_not_due=True) and Finding.objects.filter(to_alert=True).exists():
        waking.hint(SHORTLY)


@app.task(name="alerts.deliver", soft_time_limit=DELIVER_LIMIT_S, time_limit=DELIVER_LIMIT_S + 30)
def deliver(key: str) -> None:
    """Whatever was hinted at, the rows say what is due: so it looks even where the row of the look itself is not.

    What is queued while a sender ends finds it still holding the work, so it looks once more afterwards.
    """
    while _perform(key, even_if_not_due=True) and outbox.oldest_waiting(timezone.now()) is not None:
        pass


@app.task(name="pipeline.make_report", soft_time_limit=REPORT_LIMIT_S, time_limit=REPORT_LIMIT_S + 30)
def make_report(key: str) -> None:
    _perform(key)


@app.task(name="pipeline.maintain", soft_time_limit=MAINTAIN_LIMIT_S, time_limit=MAINTAIN_LIMIT_S + 30)
def maintain(key: str) -> None:
    _perform(key)


def _hint_at_the_next(key: str) -> None:
    """What is due again before the next tick would say so."""
    now = timezone.now()
    ahead = DueWork.objects.filter(key=key, next_attempt_at__gt=now, next_attempt_at__lt=now + timedelta(seconds=schedule.TICK_S))
    for due_at in ahead.values_list("next_attempt_at", flat=True):
        hint(key, due_at - now)


def _perform(key: str, *, even_if_not_due: bool = False) -> bool:
    """True where it was this process that did it, and did it well."""
    try:
        return perform(key, even_if_not_due=even_if_not_due).state != Performed.HELD
    except Exception as error:
        # Noted in the run and in the row; the row also says when to try again, so Celery need not.
        logger.error("%s failed: %s", key, error)
        return False


def registered_names() -> list[str]:
    """Names of our own tasks, for the check that each has a queue."""
    tasks: dict[str, Any] = app.tasks
    return sorted(name for name in tasks if name.startswith(("pipeline.", "alerts.")))
