"""Watches the database in web processes: while it does not answer, each page is 503 at once. A
frozen PostgreSQL or proxy keeps connections open, and no time-out of TCP or of the server ends a
waiting query. So a thread polls the database, and closes the connections of pages if it does not
answer.
"""

import os
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import cache
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from django.conf import settings
from django.db import Error, connection
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase

from webapp.lib import database_errors
from webapp.lib.middleware import Middleware

POLL_EVERY_S = 0.3
POLL_TIMEOUT_S = 1.0
"""A page that waits for the next poll and its time-out is answered within two seconds."""
LOCK_TIMEOUT_S = 1.5
NEEDS_NO_DATABASE, REPORT_ABSENCE = "/healthz", ("/readyz", "/metrics")

_connections: WeakSet[Any] = WeakSet()
_start_lock = threading.Lock()


def why_away() -> str:
    """Why the database is away; "" while it answers, and in processes that serve no pages."""
    if not settings.SERVES_PAGES:
        return ""
    if connection.vendor == "sqlite":
        if connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's wrapper has it
            return ""
        return _why_file_is_away(str(connection.settings_dict["NAME"]))
    with _start_lock:
        watch = _watch_of(os.getpid())
    if not watch.why_away():
        connection.close_if_health_check_failed()  # waits no longer than the watch allows
    return watch.why_away()


class DatabaseWatch(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info == NEEDS_NO_DATABASE or not (why := why_away()):
            return self.get_response(request)
        if request.path_info in REPORT_ABSENCE:
            request.COOKIES.clear()  # else the session would be read from the database
            return self.get_response(request)
        return database_errors.away(request, why)


class _Watch(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="database watch", daemon=True)
        self._why = ""
        self._has_polled = threading.Event()
        self._executor = ThreadPoolExecutor(1, "database")

    def why_away(self) -> str:
        self._has_polled.wait()
        return self._why

    def run(self) -> None:
        while True:
            query = self._executor.submit(_query)
            try:
                self._why = query.result(POLL_TIMEOUT_S)
            except TimeoutError:
                self._why = database_errors.SILENT
                _close_connections()
            self._has_polled.set()
            wait([query])
            time.sleep(POLL_EVERY_S)


@cache
def _watch_of(process: int) -> _Watch:
    """Per process: a fork does not copy threads."""
    watch = _Watch()
    watch.start()
    return watch


def _query() -> str:
    was_open = connection.connection is not None
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        connection.close()
        if was_open:  # perhaps only this connection ended: a new one may work
            return _query()
        return database_errors.why_away(error) or database_errors.UNREACHABLE
    return ""


@receiver(connection_created, dispatch_uid="database watch")
def _remember(connection: Any, **_kwargs: Any) -> None:
    if connection.vendor == "postgresql":
        _connections.add(connection.connection)


def _close_connections() -> None:
    for open_connection in list(_connections):
        with (
            suppress(Exception),
            closing(socket.socket(fileno=os.dup(open_connection.fileno()))) as copy,
        ):
            copy.shutdown(socket.SHUT_RDWR)


def _why_file_is_away(file: str) -> str:
    """Opens the file without Django, which would create a missing one."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(file)}?mode=rw", uri=True, timeout=LOCK_TIMEOUT_S)
        ) as database:
            database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.Error as error:
        return database_errors.why_file_is_away(error)
    return ""
