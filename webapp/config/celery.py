"""The Celery application: ``celery -A webapp.config.celery worker -Q
collect,spark,storage,default``.
"""

import os
from contextlib import ExitStack

from billiard import current_process  # type: ignore[import-untyped]  # it comes without types
from celery import Celery, Task
from celery.signals import setup_logging, task_postrun, task_prerun, worker_process_init
from django.conf import settings

from ingest import log_lines
from ingest.parent_death import die_with_parent
from webapp.config import alive, beat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
# Django's checks run before a release; in each worker they would load all pages: 0.6 s and 30 MB.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("weir")
app.config_from_object("django.conf:settings", namespace="CELERY")
# If the settings had these, every command would import Celery's classes.
app.add_defaults(
    lambda: {
        "task_queues": beat.CELERY_QUEUES,
        "beat_schedule": getattr(settings, "CELERY_BEAT_SCHEDULE", beat.SCHEDULE),
    }
)


def _leave_logging(**_: object) -> None:
    """If the signal has a receiver, Celery does not replace Django's logging by its own."""


def _begin(task: Task[..., object], **_: object) -> None:
    task.request.contexts = ExitStack()
    task.request.contexts.enter_context(log_lines.request_context(_request_of(task)))


def _request_of(task: Task[..., object]) -> str:
    return str(
        getattr(task.request, log_lines.REQUEST, None)
        or (task.request.headers or {}).get(log_lines.REQUEST)
        or ""
    )


def _end(task: Task[..., object], **_: object) -> None:
    if contexts := getattr(task.request, "contexts", None):
        contexts.close()


def _end_with_worker(**_: object) -> None:
    if current_process().name != "MainProcess":
        die_with_parent(os.getppid())


setup_logging.connect(_leave_logging)
worker_process_init.connect(_end_with_worker)
task_prerun.connect(_begin)
task_postrun.connect(_end)
alive.connect()
app.autodiscover_tasks(["webapp.pipeline"])
