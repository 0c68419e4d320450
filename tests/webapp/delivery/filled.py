"""``python -m tests.webapp.delivery.filled URL COUNT ENDPOINTS``: a database that is migrated gets
that many notices to deliver.
"""

import sys

import django
from django.db import transaction
from django.utils import timezone


def main(url: str, count: int, endpoints: int) -> None:
    django.setup()
    from tests.webapp.delivery.builders import alert, notice
    from webapp.delivery import addresses, outbox
    from webapp.delivery.endpoint_entry import EndpointEntry, enter
    from webapp.delivery.models import Endpoint
    from webapp.lib.matchers import matcher

    for number in range(endpoints):
        wants = (matcher("team", "=", str(number)),)
        enter(
            Endpoint(),
            EndpointEntry(name=f"e{number}", url=f"{url}/e{number}", matchers=wants),
            addresses.policy(),
        )
    for start in range(0, count, 100):
        told = [
            alert(
                uid=f"alr_{number}",
                family=f"f{number % 23}",
                labels={"team": str(number % endpoints)},
            )
            for number in range(start, min(start + 100, count))
        ]
        with transaction.atomic():
            outbox.queue(
                *(notice(one, made_at=timezone.now(), uid=f"ntc_{one.uid}") for one in told)
            )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
