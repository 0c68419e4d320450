from datetime import datetime

from webapp.replication.models import Replica
from webapp.work.models import DueWork

PREFIX = "storage/replica-"
"""Before the id of a ``Replica``."""


def key_of(replica: Replica) -> str:
    return f"{PREFIX}{replica.pk}"


def intervals_s() -> dict[str, int]:
    return {
        f"{PREFIX}{pk}": every_s
        for pk, every_s in Replica.objects.filter(enabled=True).values_list("pk", "every_s")
    }


def wake(replica: Replica, at: datetime) -> None:
    DueWork.objects.make_due(key_of(replica), replica.every_s, at)
