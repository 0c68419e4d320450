"""The due work of reports: those that were asked for, and the weekly digest."""

from django.utils import timezone

from webapp.reports import due, performing, weekly
from webapp.work.lease import Lease
from webapp.work.registry import Attempt, Work, register
from webapp.work.runs import RunRecord


def _has_work(attempt: Attempt) -> bool:
    return performing.has_work(due.report_of(attempt.key))


def _make(lease: Lease, record: RunRecord) -> None:
    performing.carry_out(due.report_of(lease.key), lease, record)


register(
    Work(due.PREFIX, due.TASK, every=due.intervals_s, has_work=_has_work, do=_make),
    Work(due.DIGEST, due.TASK, every=lambda: {due.DIGEST: due.LOOK_S}, look=lambda _lease: weekly.ask_where_due(timezone.now())),
)
