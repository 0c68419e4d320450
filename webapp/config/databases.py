"""From a database URL to Django's settings: SQLite for one machine, PostgreSQL for everything larger."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from webapp.config.readers import RefusedSetting

SQLITE_WAIT_S = 30
CONNECT_S = 2
"""How long a PostgreSQL that does not answer is waited for, the least that its library knows; the URL may name another."""


def from_environment(name: str, default_file: Path) -> dict[str, Any]:
    """Django's ``DATABASES["default"]``; a URL is never shown in a refusal, it may hold a password."""
    raw = os.environ.get(name, "")
    if not raw:
        return sqlite(default_file)
    refusal = RefusedSetting(name, "(hidden)", "sqlite:///absolute/path or postgresql://user:password@host:5432/name")
    try:
        url = urlsplit(raw)
        port = url.port
    except ValueError:
        raise refusal from None
    if url.scheme == "sqlite" and not url.netloc and len(url.path) > 1:
        return sqlite(Path(unquote(url.path)))
    database = unquote(url.path.strip("/"))
    if url.scheme in ("postgresql", "postgres") and database:
        return {
            "ENGINE": "webapp.config.postgresql",
            "NAME": database,
            "HOST": unquote(url.hostname or ""),
            "PORT": port or "",
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "OPTIONS": {"connect_timeout": CONNECT_S, **dict(parse_qsl(url.query))},
            "CONN_MAX_AGE": 600,
            "CONN_HEALTH_CHECKS": True,
        }
    raise refusal


def sqlite(file: Path) -> dict[str, Any]:
    """Several processes write: with the default deferred transactions most of them fail as locked."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(file),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_WAIT_S,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-64000;",
        },
    }
