"""Django settings. What differs between installations only comes from
:mod:`webapp.config.environment`.
"""

import os

from csp.constants import NONCE, NONE, SELF

from webapp.config import breaker, file_modes, schedule
from webapp.config.environment import PROJECT_DIR, Environment

WEIR = Environment()
os.umask(WEIR.umask)
file_modes.restrict(WEIR.home, WEIR.umask, WEIR.sqlite_file)

SECRET_KEY = WEIR.secret_key
DEBUG = WEIR.debug
ALLOWED_HOSTS = WEIR.allowed_hosts
CSRF_TRUSTED_ORIGINS = WEIR.trusted_origins

INSTALLED_APPS = [
    "webapp.accounts.apps.AccountsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "rest_framework",
    "drf_spectacular",
    # From the lowest layer to the highest, as in pyproject.toml.
    "webapp.lib",
    "webapp.charts",
    "webapp.work",
    "webapp.fleet",
    "webapp.profiles",
    "webapp.push",
    "webapp.findings",
    "webapp.incidents",
    "webapp.hosts",
    "webapp.pressure",
    "webapp.checkpoints",
    "webapp.storage",
    "webapp.cleanup",
    "webapp.growth",
    "webapp.replication",
    "webapp.analyses",
    "webapp.delivery",
    "webapp.alerting",
    "webapp.reports",
    "webapp.pipeline",
    "webapp.site",
]

MIDDLEWARE = [
    "webapp.lib.request_ids.RequestIds",
    "webapp.lib.api.json_errors.JsonBelowApi",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "webapp.accounts.languages.Language",
    "webapp.accounts.time_zones.ShownZone",
    "webapp.lib.database_watch.DatabaseWatch",
    "webapp.accounts.sessions.Sessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.accounts.viewers.ScopeOfRequest",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "webapp.accounts.sessions.SessionLimits",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "webapp.lib.list_pages.ListErrors",
    "webapp.lib.conflicts.Conflicts",
    "webapp.accounts.audit.middleware.AuditLog",
]

ROOT_URLCONF = "webapp.site.urls"
WSGI_APPLICATION = "webapp.config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "webapp.accounts.viewers.context",
                "webapp.accounts.time_zones.context",
                "webapp.fleet.pipeline_status.status.context",
                "webapp.site.menu.menu",
                "webapp.lib.context.page",
            ],
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.static",
                "webapp.lib.filters",
                "webapp.lib.host_links",
                "webapp.lib.markup",
                "webapp.lib.silence_links",
                "webapp.lib.messages.filters",
                "webapp.analyses.views",
            ],
        },
    },
]

DATABASES = {"default": WEIR.database}
SERVES_PAGES = False  # True in web processes, by wsgi.py
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "webapp.config.cache.ForgivingRedisCache",
        "LOCATION": WEIR.redis_url.replace("redis+socket://", "unix://"),
        "KEY_PREFIX": "weir",
        "OPTIONS": {
            "socket_timeout": breaker.TIMEOUT_S,
            "socket_connect_timeout": breaker.TIMEOUT_S,
        },
    }
    if WEIR.redis_url
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}
CACHES["default"]["KEY_FUNCTION"] = "webapp.lib.scopes.cache_key"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = sorted((PROJECT_DIR / "webapp").glob("*/locale"))
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = WEIR.home / "static"
STATICFILES_DIRS = [PROJECT_DIR / "static"]
# Static files are also served from the checkout: a new clone needs no collectstatic.
WHITENOISE_USE_FINDERS = True

# People
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "sign-in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Browser
SESSION_COOKIE_AGE = WEIR.session_age_s
SESSION_COOKIE_SECURE = WEIR.https
SESSION_COOKIE_NAME = "weir_session"
LANGUAGE_COOKIE_NAME = "weir_language"
LANGUAGE_COOKIE_AGE = 365 * 86_400
CSRF_COOKIE_SECURE = WEIR.https
CSRF_COOKIE_NAME = "weir_csrf"
SECURE_SSL_REDIRECT = WEIR.https
SECURE_REDIRECT_EXEMPT = [
    r"^healthz$",
    r"^readyz$",
    r"^metrics(/jobs)?$",
]  # requested from inside, without TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if WEIR.behind_proxy else None
SECURE_HSTS_SECONDS = WEIR.hsts_s
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # only the owner of the domain knows whether all subdomains have https
    "security.W021",  # as above, for the preload list of browsers
]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "webapp.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["webapp.accounts.permissions.ScopedAccess"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["webapp.lib.api.parsing.BoundedJson"],
    "EXCEPTION_HANDLER": "webapp.lib.api.errors.answer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Weir",
    "DESCRIPTION": "Checkpoints, back-pressure and checkpoint storage of Apache Flink fleets.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["webapp.accounts.permissions.ScopedAccess"],
    "PATH_CONVERTER_OVERRIDES": {"name": str},
    # Fields of the same name with different choices.
    "ENUM_NAME_OVERRIDES": {
        "AlertStateEnum": "webapp.alerting.choices.AlertState",
        "DeliveryStateEnum": "webapp.delivery.choices.DeliveryState",
        "EndpointFormatEnum": "webapp.delivery.choices.FormatName",
        "FindingStateEnum": "webapp.findings.choices.FindingState",
        "HostEventKindEnum": "spark_jobs.serving.HOST_EVENT_KINDS",
        "IncidentStateEnum": "webapp.incidents.choices.IncidentState",
        "SeverityEnum": "webapp.findings.choices.Severity",
        "ReportStateEnum": "webapp.reports.choices.ReportState",
    },
}

# Tasks
SPARK_JOB = "spark_jobs.job.run_job"
CELERY_BROKER_URL = WEIR.redis_url.replace("unix://", "redis+socket://") or "memory://"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Senders of hints have shorter time-outs: see webapp.work.hints.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 2 * (WEIR.spark_timeout_s + 1800),
    "socket_timeout": 30,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.2,
    "interval_max": 0.2,
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_TASK_DEFAULT_QUEUE = schedule.DEFAULT
CELERY_BEAT_SCHEDULE_FILENAME = str(WEIR.home / "celerybeat-schedule")
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1_500_000  # KiB
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "ingest.log_lines.formatter", "form": WEIR.log_format}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"level": "INFO"},
        "httpx": {"level": "WARNING"},
        "kazoo": {"level": "ERROR"},
        "waitress.queue": {"level": "ERROR"},
    },
}
