"""A hint that there is something to evaluate. Rows decide: a lost hint only delays work until the
next tick.
"""

from datetime import timedelta

from django.db import transaction

from webapp.config import schedule
from webapp.work import hints

KEY = "alerts/evaluate"
TASK = hints.Task("alerts.evaluate", schedule.ALERTS, 600)
"""Of a queue of its own: alerts must not wait for a clean-up or a purge of old rows."""


def wake() -> None:
    transaction.on_commit(hint)


def hint(after: timedelta = timedelta()) -> None:
    """Ask a worker to evaluate, at once or shortly. Without a broker the next tick does."""
    hints.hint(TASK, KEY, after)
