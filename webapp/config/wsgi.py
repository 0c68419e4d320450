"""The WSGI application for gunicorn: ``gunicorn webapp.config.wsgi``."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

application = get_wsgi_application()
