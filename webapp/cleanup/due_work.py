"""The due work of clean-up plans: there while a plan has something to do."""

from django.utils import timezone

from webapp.cleanup import execution, orders
from webapp.cleanup.models import CleanupPlan
from webapp.storage.due_work import TASK
from webapp.work.keys import number_of
from webapp.work.lease import Lease
from webapp.work.registry import ClaimedWork, Work, register
from webapp.work.runs import RunRecord


def _plans() -> dict[str, int]:
    due = CleanupPlan.objects.due(timezone.now()).values_list("pk", flat=True)
    return {f"{orders.PREFIX}{pk}": orders.RETRY_S for pk in due}


def _has_work(attempt: ClaimedWork) -> bool:
    return execution.has_work(number_of(attempt.key, orders.PREFIX))


def _carry_out(lease: Lease, record: RunRecord) -> None:
    execution.carry_out(number_of(lease.key, orders.PREFIX), lease, record)


register(Work(orders.PREFIX, TASK, every=_plans, has_work=_has_work, do=_carry_out))
