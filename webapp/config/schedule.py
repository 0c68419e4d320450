"""Queues, and how often the beat ticks.

What is due is a row (:mod:`webapp.work.models`), never a message.
"""

COLLECT, SPARK, STORAGE, ALERTS, DEFAULT = QUEUES = (
    "collect",
    "spark",
    "storage",
    "alerts",
    "default",
)
TICK_S = 15
