from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from webapp.config import schedule
from webapp.fleet.models import Cluster
from webapp.fleet.pipeline_status import disk_budget
from webapp.pipeline import (
    collecting,
    cycle,
    discovering,
    lake_care,
    retention,
    rollups,
    stored_sizes,
)
from webapp.work.hints import Task, hint
from webapp.work.keys import COLLECT, COLLECT_SLOW, CYCLE, collect_key, number_of
from webapp.work.lease import Lease
from webapp.work.models import DueWork
from webapp.work.registry import (
    DAY_S,
    HOUR_S,
    MAINTAIN_TASK,
    FinishedAttempt,
    Work,
    register,
    work_of,
)
from webapp.work.runs import RunRecord
from webapp.work.spark_job import spark_task

RETENTION = "maintenance/retention"
LAKE = "maintenance/lake"

COLLECT_TASK = Task("pipeline.collect", schedule.COLLECT, 300)
DISCOVERY_TASK = Task("pipeline.discover", schedule.DEFAULT, 120)
CYCLE_TASK = spark_task("pipeline.spark_cycle", schedule.SPARK)

COLLECTION_RESTS_AT_MOST = timedelta(seconds=30)

CYCLE_RESTS_AT_MOST = timedelta(seconds=15)
"""A rest leaves time for other work; after a long first cycle it does not last for minutes."""


def _shards() -> dict[str, int]:
    shards = (
        Cluster.objects.collected()
        .filter(slow_since__isnull=True)
        .order_by()
        .values_list("shard", flat=True)
        .distinct()
    )
    return {collect_key(shard): settings.WEIR.collect_interval_s for shard in shards}


def _slow_lane() -> dict[str, int]:
    return (
        {COLLECT_SLOW: settings.WEIR.collect_interval_s}
        if collecting.slow_clusters().exists()
        else {}
    )


def _next_collection(attempt: FinishedAttempt) -> datetime:
    rest = min(2 * (attempt.ended_at - attempt.started_at), COLLECTION_RESTS_AT_MOST)
    return max(attempt.started_at + attempt.interval, attempt.ended_at + rest)


def _hint_after_collection(key: str) -> None:
    hint(CYCLE_TASK, CYCLE)
    _hint_at_the_next(key)
    if DueWork.objects.due(timezone.now()).filter(key=COLLECT_SLOW).exists():
        hint(COLLECT_TASK, COLLECT_SLOW)


def _next_cycle(attempt: FinishedAttempt) -> datetime | None:
    if attempt.is_idle:
        # With a short interval, the cycle is due again at once: the next hint finds it.
        return attempt.ended_at if attempt.lease.interval_s <= schedule.TICK_S else None
    if cycle.left_some():
        return attempt.ended_at
    rest = min((attempt.ended_at - attempt.started_at) / 2, CYCLE_RESTS_AT_MOST)
    return max(attempt.started_at + attempt.interval, attempt.ended_at + rest)


def _hint_at_the_next(key: str) -> None:
    """Hint at the next attempt if it is due before the next tick."""
    now = timezone.now()
    task = work_of(key).task
    due_soon = DueWork.objects.filter(
        key=key,
        next_attempt_at__gt=now,
        next_attempt_at__lt=now + timedelta(seconds=schedule.TICK_S),
    )
    for due_at in due_soon.values_list("next_attempt_at", flat=True):
        hint(task, key, due_at - now)


def _hint_after_cycle(key: str) -> None:
    _hint_at_the_next(key)
    if cycle.left_some() and cycle.has_work(timezone.now()):
        hint(CYCLE_TASK, CYCLE)
    rollups.wake_first()


def _purge(lease: Lease, record: RunRecord) -> None:
    record.counts["deleted"] = retention.purge(retention.advance(timezone.now()), lease)


register(
    Work(
        COLLECT,
        COLLECT_TASK,
        every=_shards,
        next_at=_next_collection,
        done=_hint_after_collection,
        has_work=lambda _attempt: not disk_budget.problems(),
        do=lambda lease, record: collecting.collect_shard_of(
            number_of(lease.key, COLLECT), lease, record
        ),
    ),
    Work(
        COLLECT_SLOW,
        COLLECT_TASK,
        every=_slow_lane,
        next_at=_next_collection,
        done=_hint_after_collection,
        has_work=lambda _attempt: not disk_budget.problems(),
        do=collecting.collect_slow,
    ),
    Work(
        CYCLE,
        CYCLE_TASK,
        every=lambda: {CYCLE: settings.WEIR.spark_interval_s},
        has_work=lambda attempt: cycle.has_work(timezone.now(), routine_too=attempt.by_hand),
        do=cycle.run_cycle,
        next_at=_next_cycle,
        done=_hint_after_cycle,
    ),
    Work(
        rollups.KEY,
        rollups.TASK,
        every=lambda: {rollups.KEY: settings.WEIR.rollups_interval_s},
        has_work=lambda _attempt: rollups.has_work(),
        do=rollups.run,
    ),
    Work(
        discovering.KEY,
        DISCOVERY_TASK,
        every=lambda: {discovering.KEY: discovering.EVERY_S} if settings.WEIR.sources else {},
        look=discovering.follow_due,
        done=_hint_at_the_next,
    ),
    Work(RETENTION, MAINTAIN_TASK, every=lambda: {RETENTION: HOUR_S}, do=_purge),
    Work(
        LAKE,
        MAINTAIN_TASK,
        every=lambda: {LAKE: DAY_S},
        do=lambda _lease, record: lake_care.care(record),
    ),
    Work(
        stored_sizes.KEY,
        MAINTAIN_TASK,
        every=lambda: {stored_sizes.KEY: stored_sizes.EVERY_S},
        do=lambda lease, record: stored_sizes.measure(timezone.now(), lease, record),
    ),
)
