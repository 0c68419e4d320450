"""Sends hints with Celery, but with shorter time-outs."""

import os
from functools import cache
from typing import Any

from kombu.exceptions import OperationalError
from kombu.pools import producers
from redis.exceptions import RedisError

from webapp.config import breaker
from webapp.config.celery import app

ERRORS = (OperationalError, RedisError, OSError)


def send(task: str, key: str, options: dict[str, Any]) -> None:
    """Raises one of :data:`ERRORS`."""
    with producers[_connection(os.getpid())].acquire(block=True) as producer:
        app.send_task(task, args=[key], producer=producer, retry=False, **options)


@cache
def _connection(process_id: int) -> Any:
    """One per process: a fork must not share sockets."""
    timeouts = {"socket_timeout": breaker.TIMEOUT_S, "socket_connect_timeout": breaker.TIMEOUT_S}
    return app.connection_for_write(transport_options=timeouts)
