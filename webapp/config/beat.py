"""Celery's queues and beat schedule, which only has the tick."""

from datetime import datetime, timedelta

from celery.schedules import schedule as Schedule
from kombu.entity import Queue

from webapp.config.schedule import DEFAULT, QUEUES, TICK_S

DECLARED = [Queue(name) for name in QUEUES]


class Every(Schedule):
    """By the wall clock, as Celery has it, beat would stop for hours after the clock was set back
    by hours.
    """

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        left: timedelta = super().remaining_estimate(last_run_at)
        return left if left <= self.run_every else timedelta(0)


SCHEDULE = {
    "tick": {
        "task": "pipeline.tick",
        "schedule": Every(TICK_S),
        # If no worker takes it for this long, newer ticks wait as well.
        "options": {"queue": DEFAULT, "expires": 2 * TICK_S},
    },
}
