"""Queues, routes and the beat schedule: which task runs where, and what wakes the rest.

Beat only ever starts the tick. What is due is a row (:mod:`webapp.pipeline.due`), never a message.
"""

from datetime import datetime, timedelta

from celery.schedules import schedule as Schedule
from kombu import Queue  # type: ignore[attr-defined]

COLLECT, SPARK, STORAGE, ALERTS, DEFAULT = "collect", "spark", "storage", "alerts", "default"
TICK_S = 15

QUEUES = [Queue(name) for name in (COLLECT, SPARK, STORAGE, ALERTS, DEFAULT)]  # type: ignore[no-untyped-call]

ROUTES = {
    "pipeline.tick": {"queue": DEFAULT},
    "pipeline.maintain": {"queue": DEFAULT},
    "pipeline.make_report": {"queue": DEFAULT},
    "pipeline.collect": {"queue": COLLECT},
    "pipeline.spark_cycle": {"queue": SPARK},
    # Beside the cycle: its worker has a process for each of them.
    "pipeline.roll_up": {"queue": SPARK},
    # An audit lists for as long as it takes; the cycle must not wait for it.
    "pipeline.audit_storage": {"queue": STORAGE},
    # Alerts must not wait for a clean-up or a purge of old rows.
    "alerts.deliver": {"queue": ALERTS},
    "alerts.evaluate": {"queue": ALERTS},
}


class Every(Schedule):  # type: ignore[misc]  # Celery declares no types
    """Celery reckons from the last run to the next by the wall clock: one that is set back by hours would still the beat for as long."""

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        left: timedelta = super().remaining_estimate(last_run_at)
        return left if left <= self.run_every else timedelta(0)


BEAT = {
    "tick": {
        "task": "pipeline.tick",
        "schedule": Every(TICK_S),
        # A tick that waited for a worker longer than this has been followed by others.
        "options": {"expires": 2 * TICK_S},
    },
}
