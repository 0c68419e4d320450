from django.utils import timezone

from webapp.config.schedule import TICK_S
from webapp.delivery import outbox, sending
from webapp.work.registry import Work, register

register(
    Work(
        outbox.KEY,
        outbox.TASK,
        every=lambda: {outbox.KEY: TICK_S},
        look=lambda _lease: sending.send_due(),  # each attempt is a row of its own
        # A hint counts even if this work is not due: each delivery has its own time.
        when_hinted=True,
        # A sender that ends still holds the work: it looks again for new deliveries.
        more=lambda: outbox.oldest_waiting(timezone.now()) is not None,
    )
)
