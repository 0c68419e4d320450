"""Telling a worker of work that is due. The rows are the truth: a lost hint costs a tick, nothing else."""

import logging
from datetime import timedelta
from typing import Any

from kombu.exceptions import OperationalError

from webapp.config import schedule
from webapp.config.celery import app

EXPIRES_S = 2 * schedule.TICK_S
"""A hint that waited for a worker longer than this has been followed by others."""

logger = logging.getLogger(__name__)


def send(task: str, key: str, queue: str, after: timedelta = timedelta(), **options: Any) -> None:
    """Raises ``OperationalError`` where there is no broker."""
    delay_s = max(after.total_seconds(), 0)
    app.send_task(task, args=[key], queue=queue, countdown=delay_s or None, expires=delay_s + EXPIRES_S, **options)


def hint(task: str, key: str, queue: str, after: timedelta = timedelta()) -> None:
    """Where something else is in hand that must not fail or wait: without a broker the next tick looks."""
    try:
        send(task, key, queue, after, retry=False)
    except OperationalError as error:
        logger.warning("No hint at %s could be sent, the next tick will look: %s", key, type(error).__name__)
