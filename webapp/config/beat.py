"""Celery's queues and beat schedule, which only has the tick."""

from datetime import datetime, timedelta

from celery.schedules import schedule as Schedule
from kombu.entity import Queue

from webapp.config.schedule import DEFAULT, QUEUES, TICK_S

CELERY_QUEUES = [Queue(name) for name in QUEUES]


class Every(Schedule):
    """Celery goes by the wall clock: set back by hours, beat would stop for hours. Here, more than
    one interval left means due.
    """

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        remaining: timedelta = super().remaining_estimate(last_run_at)
        return remaining if remaining <= self.run_every else timedelta(0)


SCHEDULE = {
    "tick": {
        "task": "pipeline.tick",
        "schedule": Every(TICK_S),
        # If no worker takes the tick for this long, newer ticks wait as well.
        "options": {"queue": DEFAULT, "expires": 2 * TICK_S},
    },
}
