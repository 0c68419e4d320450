"""The WSGI application for gunicorn: ``gunicorn webapp.config.wsgi --worker-class webapp.web.worker.BufferedWorker``."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

# Whitenoise wants the folder of collected files to exist, also where nothing was collected.
settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)

application = get_wsgi_application()
