"""The WSGI application, which ``python -m webapp.launch.web`` serves."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from webapp.config import databases
from webapp.config.garbage import look_for_garbage_rarely

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

# Whitenoise wants the folder of collected files to exist, also if nothing was collected.
settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)

settings.SERVES_PAGES = True
databases.cut_long_statements(settings.DATABASES["default"])

application = get_wsgi_application()

# All pages, before anybody waits for one; where the server forks its workers from here, once for
# all of them.
_ = get_resolver().url_patterns
look_for_garbage_rarely()
