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
        # The rows say what is due, so it looks even where the row of the look itself is not.
        when_hinted=True,
        # A notice queued while a sender ends finds the work still held, so the sender checks once
        # more.
        more=lambda: outbox.oldest_waiting(timezone.now()) is not None,
    )
)
