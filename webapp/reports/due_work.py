from webapp.reports import work_keys
from webapp.work.keys import number_of
from webapp.work.lease import Lease
from webapp.work.registry import ClaimedWork, Work, register
from webapp.work.runs import RunRecord


def _has_work(attempt: ClaimedWork) -> bool:
    # Loads libraries of charts, which a worker needs only to make a report.
    from webapp.reports import execution

    return execution.has_work(number_of(attempt.key, work_keys.PREFIX))


def _make(lease: Lease, record: RunRecord) -> None:
    from webapp.reports import execution

    execution.carry_out(number_of(lease.key, work_keys.PREFIX), lease, record)


register(
    Work(
        work_keys.PREFIX,
        work_keys.TASK,
        every=work_keys.intervals_s,
        has_work=_has_work,
        do=_make,
    ),
)
