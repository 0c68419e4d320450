from django.utils import timezone

from webapp.cleanup import execution, orders
from webapp.cleanup.models import CleanupPlan
from webapp.storage.due_work import TASK
from webapp.work.keys import number_of
from webapp.work.registry import Work, register


def _due_plans() -> dict[str, int]:
    due = CleanupPlan.objects.due(timezone.now()).values_list("pk", flat=True)
    return {f"{orders.PREFIX}{pk}": orders.RETRY_S for pk in due}


register(
    Work(
        orders.PREFIX,
        TASK,
        every=_due_plans,
        has_work=lambda attempt: execution.has_work(number_of(attempt.key, orders.PREFIX)),
        do=lambda lease, record: execution.carry_out(
            number_of(lease.key, orders.PREFIX), lease, record
        ),
    )
)
