"""Queues, routes and the beat schedule: which task runs where, and what wakes the rest.

Beat only ever starts the tick. What is due is a row (:mod:`webapp.pipeline.due`), never a message.
"""

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
    # An audit lists for as long as it takes; the cycle must not wait for it.
    "pipeline.audit_storage": {"queue": STORAGE},
    # Alerts must not wait for a clean-up or a purge of old rows.
    "alerts.deliver": {"queue": ALERTS},
    "alerts.evaluate": {"queue": ALERTS},
}

BEAT = {
    "tick": {
        "task": "pipeline.tick",
        "schedule": TICK_S,
        # A tick that waited for a worker longer than this has been followed by others.
        "options": {"expires": 2 * TICK_S},
    },
}
