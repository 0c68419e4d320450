"""The due work of reports: those that were asked for, and the weekly digest."""

from django.utils import timezone

from webapp.reports import execution, weekly_digest, work_keys
from webapp.work.keys import number_of
from webapp.work.registry import Work, register

register(
    Work(
        work_keys.PREFIX,
        work_keys.TASK,
        every=work_keys.intervals_s,
        has_work=lambda attempt: execution.has_work(number_of(attempt.key, work_keys.PREFIX)),
        do=lambda lease, record: execution.carry_out(number_of(lease.key, work_keys.PREFIX), lease, record),
    ),
    Work(
        work_keys.DIGEST,
        work_keys.TASK,
        every=lambda: {work_keys.DIGEST: work_keys.LOOK_S},
        look=lambda _lease: weekly_digest.ask_where_due(timezone.now()),
    ),
)
