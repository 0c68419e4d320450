import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from webapp.config import databases
from webapp.config.garbage import collect_garbage_rarely

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

# WhiteNoise requires the folder, even if it is empty.
settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)

settings.SERVES_PAGES = True
databases.limit_statements(settings.DATABASES["default"])

application = get_wsgi_application()

# Load all pages before the first request, once for all forked workers.
_ = get_resolver().url_patterns
collect_garbage_rarely()
