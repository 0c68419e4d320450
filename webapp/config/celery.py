"""The Celery application: ``celery -A webapp.config.celery worker -Q collect,spark,storage,default``."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
# Django's checks are of the code and are made before it is released; in every worker they would load all pages: 0.6 s and 30 MB each.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("weir")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["webapp.pipeline"])
