"""Celery's queues, and how often the beat ticks. What is due is in database rows
(:mod:`webapp.work.models`).
"""

COLLECT, SPARK, STORAGE, ALERTS, DEFAULT = QUEUES = (
    "collect",
    "spark",
    "storage",
    "alerts",
    "default",
)
TICK_S = 15
