"""The due work of storage: audits, and simulations of age rules that somebody asked for."""

from django.conf import settings

from webapp.config import schedule
from webapp.storage.auditing import scheduled_audits, work_keys
from webapp.work.hints import Task
from webapp.work.registry import Work, register

LIST_LIMIT_S = 12 * 3600
LOAD_LIMIT_S = 1800

TASK = Task("pipeline.audit_storage", schedule.STORAGE, LIST_LIMIT_S + settings.WEIR.spark_timeout_s + LOAD_LIMIT_S)
"""An audit lists for as long as it takes; the cycle must not wait for it."""

register(
    Work(work_keys.AUDIT, TASK, every=work_keys.audits_s, do=scheduled_audits.audit_all),
    Work(
        work_keys.AGE_RULES,
        TASK,
        every=work_keys.age_rules_s,
        has_work=lambda _attempt: scheduled_audits.has_age_rules(),
        do=scheduled_audits.simulate_asked,
    ),
    # Left by a command that was killed: there is nothing to do.
    Work(work_keys.BY_HAND, TASK, every=dict),
)
