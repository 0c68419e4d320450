"""The Celery application: ``celery -A webapp.config.celery worker -Q collect,spark,storage,default``."""

import os

from celery import Celery
from django.conf import settings

from webapp.config import beat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
# Django's checks are of the code and are made before it is released; in every worker they would load all pages: 0.6 s and 30 MB each.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("weir")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Settings hold none of them: every command would load Celery's classes with them, whether it has to do with tasks or not.
app.add_defaults(lambda: {"task_queues": beat.DECLARED, "beat_schedule": getattr(settings, "CELERY_BEAT_SCHEDULE", beat.SCHEDULE)})
app.autodiscover_tasks(["webapp.pipeline"])
