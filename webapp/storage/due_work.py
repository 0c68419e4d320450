from datetime import timedelta

from webapp.config import schedule
from webapp.fleet.pipeline_status import disk_budget
from webapp.storage import namenode_findings
from webapp.storage.auditing import scheduled_audits, work_keys
from webapp.work.registry import MAINTAIN_TASK, MINUTE_S, Work, register
from webapp.work.spark_job import spark_task

LIST_LIMIT_S = 12 * 3600
CHECK_DISK_EVERY = timedelta(minutes=10)

TASK = spark_task("pipeline.audit_storage", schedule.STORAGE, first_s=LIST_LIMIT_S)
"""Has its own queue: listing may take hours, and the cycle must not wait for it."""

register(
    Work(
        work_keys.AUDIT,
        TASK,
        every=work_keys.audit_intervals_s,
        has_work=lambda attempt: attempt.by_hand or not disk_budget.problems(),
        do=scheduled_audits.audit_all,
        next_at=lambda attempt: (
            attempt.ended_at + CHECK_DISK_EVERY
            if attempt.is_idle
            else work_keys.next_audit_at(attempt.started_at, attempt.ended_at)
        ),
    ),
    # A killed command leaves this row: there is nothing to do.
    Work(work_keys.BY_HAND, TASK, every=dict),
    Work(
        namenode_findings.KEY,
        MAINTAIN_TASK,
        every=lambda: {namenode_findings.KEY: MINUTE_S} if namenode_findings.is_wanted() else {},
        do=namenode_findings.judge_all,
    ),
)
