"""Turns a database URL into Django's settings: SQLite for one machine, PostgreSQL for more."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from webapp.config.readers import RefusedSetting

SQLITE_WAIT_S = 30
POSTGRESQL = "django.db.backends.postgresql"
WAITS = {
    "connect_timeout": 2,  # the least that libpq accepts
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How long to wait for PostgreSQL: options of libpq in seconds, the last one in ms. Options in the
URL win.
"""
STATEMENT_S = 60


def from_environment(name: str, default_file: Path) -> dict[str, Any]:
    """Errors do not show the URL, which may contain a password."""
    raw = os.environ.get(name, "")
    if not raw:
        return sqlite(default_file)
    refusal = RefusedSetting(
        name, "(hidden)", "sqlite:///absolute/path or postgresql://user:password@host:5432/name"
    )
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
            "ENGINE": POSTGRESQL,
            "NAME": database,
            "HOST": unquote(url.hostname or ""),
            "PORT": port or "",
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "OPTIONS": WAITS | dict(parse_qsl(url.query)),
            "CONN_MAX_AGE": 600,
            "CONN_HEALTH_CHECKS": True,
        }
    raise refusal


def limit_statements(database: dict[str, Any]) -> None:
    """For web servers: nobody waits longer for a page. ``options`` in the URL win."""
    if database["ENGINE"] == POSTGRESQL:
        database["OPTIONS"].setdefault("options", f"-c statement_timeout={STATEMENT_S}s")


def sqlite(file: Path) -> dict[str, Any]:
    """For several processes that write: with deferred transactions, the default, most would fail as
    locked.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(file),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_WAIT_S,
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-64000;"
            ),
        },
    }
