"""Telling the evaluation that there is something to look at. Rows are the truth: a lost word costs a tick, nothing else."""

import logging
from datetime import timedelta

from django.db import transaction
from kombu.exceptions import OperationalError

from webapp.config import schedule
from webapp.config.celery import app

TASK, KEY = "alerts.evaluate", "alerts/evaluate"
HINT_EXPIRES_S = 2 * schedule.TICK_S

logger = logging.getLogger(__name__)


def wake() -> None:
    """Once what is being written has been committed."""
    transaction.on_commit(hint)


def hint(after: timedelta = timedelta()) -> None:
    """Ask a worker to evaluate, at once or shortly. Without a broker the next tick does."""
    delay_s = after.total_seconds()
    try:
        app.send_task(
            TASK, args=[KEY], queue=schedule.ALERTS, countdown=delay_s or None, expires=delay_s + HINT_EXPIRES_S, retry=False
        )  # fmt: skip
    except OperationalError as error:
        logger.warning("No hint to evaluate could be sent, the next tick will look: %s", type(error).__name__)
