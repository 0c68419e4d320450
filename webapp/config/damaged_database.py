"""Recognises a damaged SQLite file, and says what to do."""

import sqlite3

from django.conf import settings
from django.db import DatabaseError

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
HELP = "Operation → If the database file is damaged"


def is_damaged(error: BaseException | None) -> bool:
    cause = error.__cause__ if isinstance(error, DatabaseError) else None
    return isinstance(cause, sqlite3.Error) and primary_code(cause) in _DAMAGED


def primary_code(error: sqlite3.Error) -> int:
    """Extended result codes have the primary code in the lowest byte."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def repair_advice(error: BaseException) -> str:
    file = settings.DATABASES["default"]["NAME"]
    return (
        f"The database file {file} is damaged ({str(error).strip()}), so Weir cannot work with it. "
        f"Stop Weir and move the file aside, with {file}-wal and {file}-shm; do not delete them. "
        f"Then put a saved copy in its place, or what `sqlite3 {file} .dump` or `.recover` can "
        f"read; the documentation says how ({HELP}). The lake is not touched by this: what was "
        "measured is made from it again by `manage.py run_pipeline --from-start`."
    )
