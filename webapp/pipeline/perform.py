"""Doing one piece of due work: claim, run, give back. The same for tasks and for commands."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from webapp.alerting import evaluation
from webapp.config import schedule
from webapp.delivery import sending
from webapp.pipeline import collecting, cycle, lake_care, retention, rollups, work
from webapp.pipeline.lease import Lease, LeaseLost
from webapp.pipeline.models import DueWork
from webapp.pipeline.runs import RunRecord, describe, recorded
from webapp.reports import due as reports
from webapp.reports import performing as reporting
from webapp.reports import weekly
from webapp.storage.auditing import scheduled
from webapp.storage.cleanup import performing as cleanup

Echo = Callable[[str], None]

COLLECTION_RESTS_AT_MOST = timedelta(seconds=30)
"""A JobManager that takes seconds to answer is left alone for twice as long."""

CYCLE_RESTS_AT_MOST = timedelta(seconds=15)
"""A machine that needs most of its time for cycles has some for everything else; a first cycle of minutes puts off none for minutes."""


@dataclass(frozen=True)
class Performed:
    """``HELD``: somebody else is at it, or its time has not come. ``IDLE``: there was nothing to do. ``DONE``: see the record."""

    state: str
    record: RunRecord | None = None

    HELD = "held"
    IDLE = "idle"
    DONE = "done"


def perform(key: str, *, even_if_not_due: bool = False, echo: Echo | None = None) -> Performed:
    """Claim and do the work. An error is noted in the run and in the row, the work is due again after a delay,
    and the error goes on up."""
    began = timezone.now()
    lease = DueWork.objects.claim(key, began, even_if_not_due=even_if_not_due)
    if lease is None:
        return Performed(Performed.HELD)
    try:
        with lease.kept_alive():
            record = _do(lease, echo, by_hand=even_if_not_due)
    except LeaseLost:
        raise
    except BaseException as error:
        lease.fail(timezone.now(), describe(error))
        raise
    now = timezone.now()
    lease.complete(now, next_attempt_at=_next(lease, began, now, idle=record is None))
    if key == work.SPARK_CYCLE and record:
        rollups.wake_first()
    return Performed(Performed.DONE, record) if record else Performed(Performed.IDLE)


def _next(lease: Lease, began: datetime, now: datetime, *, idle: bool) -> datetime | None:
    """When collections and cycles are due again; None where an interval after the end will do.

    They begin an interval apart, so that what comes in during one does not wait for a whole interval after it; but what takes long
    rests for long. A cycle that found nothing to do stays due: whoever has news for it has it started at once.
    """
    took = now - began
    if lease.key == work.SPARK_CYCLE:
        if idle:
            return now if lease.interval_s <= schedule.TICK_S else None
        return max(began + timedelta(seconds=lease.interval_s), now + min(took / 2, CYCLE_RESTS_AT_MOST))
    if lease.key.startswith(work.COLLECT):
        return max(began + timedelta(seconds=lease.interval_s), now + min(2 * took, COLLECTION_RESTS_AT_MOST))
    return None


def _do(lease: Lease, echo: Echo | None, *, by_hand: bool) -> RunRecord | None:
    if lease.key == work.SPARK_CYCLE and not cycle.has_work(timezone.now(), routine_too=by_hand):
        return None
    if lease.key == work.AGE_RULES and not scheduled.has_age_rules():
        return None
    if lease.key == work.ROLLUPS and not rollups.has_work():
        return None
    if lease.key.startswith(work.PLAN) and not cleanup.has_work(work.plan_of(lease.key)):
        return None
    if lease.key == work.ALERTING:
        evaluation.evaluate(timezone.now(), lease)  # alerts keep a history of their own
        return None
    if lease.key == work.DELIVERY:
        sending.send_due()  # each attempt is a row of its own: no run is recorded
        return None
    if lease.key == reports.DIGEST:
        weekly.ask_where_due(timezone.now())
        return None
    if lease.key.startswith(reports.PREFIX) and not reporting.has_work(reports.report_of(lease.key)):
        return None
    if lease.key == work.AUDIT_BY_HAND:
        return None  # left by a command that was killed
    with recorded(lease, lease.key.partition("/")[0], echo) as record:
        if lease.key.startswith(work.COLLECT):
            collecting.collect(work.shard_of(lease.key), lease, record)
        elif lease.key == work.SPARK_CYCLE:
            cycle.run_cycle(lease, record)
        elif lease.key == work.ROLLUPS:
            rollups.run(lease, record)
        elif lease.key == work.AUDIT:
            scheduled.audit_all(lease, record)
        elif lease.key.startswith(work.PLAN):
            cleanup.carry_out(work.plan_of(lease.key), lease, record)
        elif lease.key == work.AGE_RULES:
            scheduled.simulate_asked(lease, record)
        elif lease.key.startswith(reports.PREFIX):
            reporting.carry_out(reports.report_of(lease.key), lease, record)
        elif lease.key == work.RETENTION:
            record.counts["deleted"] = retention.purge(timezone.now(), lease)
        elif lease.key == work.LAKE:
            lake_care.care(record)
        else:
            raise ValueError(f"Nobody knows how to do {lease.key}.")
    return record
