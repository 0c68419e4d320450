"""Watches the database in web processes: while it does not answer, each page is 503 at once. A
frozen PostgreSQL or proxy keeps connections open without an answer, and no time-out of TCP or of
the server ends a waiting query. So a thread polls it, and closes the connections of pages when it
does not answer.
"""

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
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

LOOKS_EVERY_S = 0.3
SILENT_S = 1.0
"""A page that had to wait for the next look, and then for this, is answered within two seconds."""
LOCKED_S = 1.5
WITHOUT_DATABASE, REPORT_ITS_ABSENCE = "/healthz", ("/readyz", "/metrics")

_connections: WeakSet[Any] = WeakSet()
_one_at_a_time = threading.Lock()


def why_away() -> str:
    """Why it is unavailable, as a sentence; "" while it answers, and in processes without pages."""
    if not settings.SERVES_PAGES:
        return ""
    if connection.vendor == "sqlite":
        if connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's wrapper has it
            return ""
        return _why_file_is_away(str(connection.settings_dict["NAME"]))
    with _one_at_a_time:
        watch = _watch_of(os.getpid())
    if not watch.why_away():
        connection.close_if_health_check_failed()  # waits no longer than the watch allows
    return watch.why_away()


class DatabaseWatch:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info == WITHOUT_DATABASE or not (why := why_away()):
            return self.get_response(request)
        if request.path_info in REPORT_ITS_ABSENCE:
            request.COOKIES.clear()  # a session would be looked up
            return self.get_response(request)
        return database_errors.away(request, why)


class _Watch(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="database watch", daemon=True)
        self._why = ""
        self._has_looked = threading.Event()
        self._executor = ThreadPoolExecutor(1, "database")

    def why_away(self) -> str:
        self._has_looked.wait()
        return self._why

    def run(self) -> None:
        while True:
            query = self._executor.submit(_query)
            try:
                self._why = query.result(SILENT_S)
            except TimeoutError:
                self._why = database_errors.SILENT
                _close_connections()
            self._has_looked.set()
            wait([query])
            time.sleep(LOOKS_EVERY_S)


@cache
def _watch_of(process: int) -> _Watch:
    """The watch of this process: a fork does not copy threads."""
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
        # The former connection may have ended for another reason than the server.
        return (
            _query() if was_open else database_errors.why_away(error) or database_errors.UNREACHABLE
        )
    return ""


@receiver(connection_created, dispatch_uid="database watch")
def _remember(connection: Any, **_about: Any) -> None:
    if connection.vendor == "postgresql":
        _connections.add(connection.connection)


def _close_connections() -> None:
    for opened in list(_connections):
        with (
            suppress(Exception),
            closing(socket.socket(fileno=os.dup(opened.fileno()))) as copy,
        ):
            copy.shutdown(socket.SHUT_RDWR)


def _why_file_is_away(file: str) -> str:
    """Why an SQLite file is missing: Django would create an empty one."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(file)}?mode=rw", uri=True, timeout=LOCKED_S)
        ) as database:
            database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.Error as error:
        return database_errors.why_file_is_away(error)
    return ""
