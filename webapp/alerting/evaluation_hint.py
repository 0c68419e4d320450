"""Hints to evaluate at once. If a hint is lost, the next tick evaluates."""

from datetime import timedelta

from django.db import transaction

from webapp.config import schedule
from webapp.work import hints

KEY = "alerts/evaluate"
TASK = hints.Task("alerts.evaluate", schedule.ALERTS, 600)
"""A separate queue: alerts do not wait for other work."""


def wake() -> None:
    transaction.on_commit(hint)


def hint(after: timedelta = timedelta()) -> None:
    hints.hint(TASK, KEY, after)
