"""Performs one piece of due work, for tasks and commands: claim, run, return."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils import timezone

from webapp.lib.database_errors import why_away
from webapp.work.lease import LeaseLost
from webapp.work.models import DueWork
from webapp.work.registry import ClaimedWork, FinishedAttempt, Work, work_of
from webapp.work.runs import RunRecord, describe, record_run

Echo = Callable[[str], None]


@dataclass(frozen=True)
class Performed:
    """``HELD``: another process holds the work, or it is not due. ``IDLE``: there was nothing to
    do, or the work keeps its own history (``Work.look``). ``DONE``: it was done and recorded.
    """

    state: str
    record: RunRecord | None = None

    HELD = "held"
    IDLE = "idle"
    DONE = "done"


def perform(key: str, *, even_if_not_due: bool = False, echo: Echo | None = None) -> Performed:
    """Errors are recorded in the run and in the row, which is due again after a delay, and raised."""
    started_at = timezone.now()
    lease = DueWork.objects.claim(key, started_at, even_if_not_due=even_if_not_due)
    if lease is None:
        return Performed(Performed.HELD)
    try:
        work = work_of(key)
        with lease.kept_alive():
            record = _do(work, ClaimedWork(lease, by_hand=even_if_not_due), echo)
    except LeaseLost:
        raise
    except BaseException as error:
        lease.fail(timezone.now(), describe(error), soon=bool(why_away(error)))
        raise
    now = timezone.now()
    lease.complete(
        now,
        next_attempt_at=work.next_at(
            FinishedAttempt(lease, started_at, now, is_idle=record is None)
        ),
    )
    return Performed(Performed.DONE, record) if record else Performed(Performed.IDLE)


def _do(work: Work, attempt: ClaimedWork, echo: Echo | None) -> RunRecord | None:
    if not work.has_work(attempt):
        return None
    if work.look:
        work.look(attempt.lease)
    if not work.do:
        return None
    with record_run(attempt.lease, attempt.key.partition("/")[0], echo) as record:
        work.do(attempt.lease, record)
    return record
