from webapp.replication import execution, work_keys
from webapp.storage.due_work import TASK
from webapp.work.keys import number_of
from webapp.work.registry import Work, register

register(
    Work(
        work_keys.PREFIX,
        TASK,
        every=work_keys.intervals_s,
        has_work=lambda attempt: execution.is_wanted(number_of(attempt.key, work_keys.PREFIX)),
        do=lambda lease, record: execution.replicate(
            number_of(lease.key, work_keys.PREFIX), lease, record
        ),
        # The interval is from start to start; after a longer round, the next starts at once.
        next_at=lambda attempt: max(attempt.ended_at, attempt.started_at + attempt.interval),
    )
)
