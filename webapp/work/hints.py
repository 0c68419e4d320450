"""Hints to a worker that work is due. Rows of ``DueWork`` decide: a lost hint only delays work
until the next tick.
"""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from ingest import log_lines
from webapp.config import breaker, schedule

EXPIRES_S = 2 * schedule.TICK_S
"""Every tick sends a new hint, so a hint that is older than two ticks is useless."""

logger = logging.getLogger(__name__)


class Unsent(Exception):
    """The broker is missing or does not answer in time. The message names the error."""


@dataclass(frozen=True)
class Task:
    """A Celery task for the key of due work. After ``limit_s`` seconds it is asked to end, and
    ``grace_s`` later it is killed.
    """

    name: str
    queue: str
    limit_s: int
    grace_s: int = 30


def send(task: Task, key: str, after: timedelta = timedelta()) -> None:
    if not breaker.redis.allows():
        raise Unsent("It did not answer recently.")
    # Most commands send no hint, and importing Celery would take a quarter of their start.
    from webapp.work import broker

    delay_s = max(after.total_seconds(), 0)
    options = {
        "queue": task.queue,
        "countdown": delay_s or None,
        "expires": delay_s + EXPIRES_S,
        "headers": {log_lines.REQUEST: log_lines.request_id()},
    }
    try:
        with breaker.redis.watching():
            # Connecting alone needs a dozen answers: the time-out of each is not enough.
            _sender(os.getpid()).submit(broker.send, task.name, key, options).result(breaker.SLOW_S)
    except broker.ERRORS as error:
        raise Unsent(type(error).__name__) from error


def hint(task: Task, key: str, after: timedelta = timedelta()) -> None:
    """Send a hint without failing or waiting: without a broker the next tick finds the work."""
    try:
        send(task, key, after)
    except Unsent as error:
        logger.warning(
            "No hint at %s could be sent to the broker, the next tick will look: %s", key, error
        )


@cache
def _sender(process_id: int) -> ThreadPoolExecutor:
    """One per process: a fork does not copy threads."""
    return ThreadPoolExecutor(1, thread_name_prefix="hints")
