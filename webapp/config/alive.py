"""A worker or beat touches a file while it is connected to the broker; health checks of containers
look at its age.
"""

from pathlib import Path
from typing import Any

from celery.signals import after_task_publish, beat_init, heartbeat_sent, worker_init
from django.conf import settings


def connect() -> None:
    """A worker touches ``WEIR_ALIVE_FILE`` at each heartbeat (every two seconds), beat at each tick
    that it sends.
    """
    worker_init.connect(_watch_worker)
    beat_init.connect(_watch_beat)


def _watch_worker(**_: Any) -> None:
    if settings.WEIR.alive_file:
        heartbeat_sent.connect(_touch)


def _watch_beat(**_: Any) -> None:
    if settings.WEIR.alive_file:
        after_task_publish.connect(_touch)


def _touch(**_: Any) -> None:
    Path(settings.WEIR.alive_file).touch()
