"""Whether the database answers, as a web process knows it before a page asks: while it does not,
each page is 503 at once.

A PostgreSQL that is frozen, or a proxy that takes and never answers, keeps connections open and
says nothing. No time-out of TCP or of the server ends what waits for it, so a thread asks it all
the time and shuts the connections of pages when it does not answer.
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
NEEDS_NONE, REPORT_IT_THEMSELVES = "/healthz", ("/readyz", "/metrics")

_opened: WeakSet[Any] = WeakSet()
_one_at_a_time = threading.Lock()


def why_away() -> str:
    """A sentence; "" while it answers, and in processes that serve no pages."""
    if not settings.SERVES_PAGES:
        return ""
    if connection.vendor == "sqlite":
        if connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's wrapper has it
            return ""
        return _why_file_is_away(str(connection.settings_dict["NAME"]))
    with _one_at_a_time:
        watch = _watch_of(os.getpid())
    if not watch.why_away():
        connection.close_if_health_check_failed()  # waits no longer than the watch lets it
    return watch.why_away()


class DatabaseWatch:
    """Middleware around all that asks the database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info == NEEDS_NONE or not (why := why_away()):
            return self.get_response(request)
        if request.path_info in REPORT_IT_THEMSELVES:
            request.COOKIES.clear()  # a session would be looked up
            return self.get_response(request)
        return database_errors.away(request, why)


class _Watch(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="database watch", daemon=True)
        self._why = ""
        self._has_looked = threading.Event()
        self._asking = ThreadPoolExecutor(1, "database")

    def why_away(self) -> str:
        self._has_looked.wait()
        return self._why

    def run(self) -> None:
        while True:
            asked = self._asking.submit(_ask)
            try:
                self._why = asked.result(SILENT_S)
            except TimeoutError:
                self._why = database_errors.SILENT
                _shut_all()
            self._has_looked.set()
            wait([asked])
            time.sleep(LOOKS_EVERY_S)


@cache
def _watch_of(process: int) -> _Watch:
    """Of this process: a thread is not forked along."""
    watch = _Watch()
    watch.start()
    return watch


def _ask() -> str:
    was_open = connection.connection is not None
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        connection.close()
        # Whoever ended the connection of before may have left the server as it is.
        return (
            _ask() if was_open else database_errors.why_away(error) or database_errors.UNREACHABLE
        )
    return ""


@receiver(connection_created, dispatch_uid="database watch")
def _opened_one(connection: Any, **_about: Any) -> None:
    if connection.vendor == "postgresql":
        _opened.add(connection.connection)


def _shut_all() -> None:
    """Whoever waits at one of them hears at once that it has ended."""
    for opened in list(_opened):
        with (
            suppress(Exception),
            closing(socket.socket(fileno=os.dup(opened.fileno()))) as ours,
        ):
            ours.shutdown(socket.SHUT_RDWR)


def _why_file_is_away(file: str) -> str:
    """Django would make a file that was moved away again, without a table in it."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(file)}?mode=rw", uri=True, timeout=LOCKED_S)
        ) as asked:
            asked.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.Error as error:
        return database_errors.why_file_is_away(error)
    return ""
