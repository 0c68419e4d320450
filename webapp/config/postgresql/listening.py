"""Connections that tell a slow statement from a server that is silent: stopped, cut off, or behind a proxy that takes and never answers.

While a statement has no answer, the server is asked over a connection of its own whether it is there at all. A statement may take as
long as it wants while it is; else the connection is given up. Pages do so after a second, and for a moment nothing more is asked, so
that one page waits and not each; everything else has a minute's patience, and so outlives a machine that is moved.
"""

import os
import socket
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors

from webapp.config import breaker

Result = TypeVar("Result")

PATIENCE_S, PAGES_PATIENCE_S = 60.0, 1.0
"""How long a server may be silent before it is asked whether it is there."""
PROBE_S = 0.7
_SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")
"""PostgreSQL's protocol, message formats: answered by one byte before anybody signs in, by poolers as well."""

_serves_pages = False


def serve_pages() -> None:
    """From now on nobody is there to wait for a minute in this process."""
    global _serves_pages
    _serves_pages = True


class ListeningConnection(psycopg.Connection[Any]):
    @classmethod
    def connect(cls, *args: Any, **options: Any) -> Self:
        if _serves_pages and not breaker.database.allows():
            raise _silent()
        try:
            made = super().connect(*args, **options)
        except errors.ConnectionTimeout:
            if _serves_pages:
                breaker.database.open()
            raise
        breaker.database.close()
        return made

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        if _serves_pages and not breaker.database.allows():
            self.pgconn.finish()
            raise _silent()
        answer = super().wait(self._listening(gen), *args, **options)
        breaker.database.close()
        return answer

    def _listening(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        """``gen`` itself; it is resumed with nothing wherever nothing came."""
        patience_s = PAGES_PATIENCE_S if _serves_pages else PATIENCE_S
        heard = time.monotonic()
        ready = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as end:
                returned: Result = end.value
                return returned
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > patience_s:
                self._give_up_if_silent()
                heard = time.monotonic()

    def _give_up_if_silent(self) -> None:
        if answers(self.pgconn.socket):
            return
        if _serves_pages:
            breaker.database.open()
        self.pgconn.finish()  # a rollback would wait as well
        raise _silent()


def answers(connected: int) -> bool:
    """Whether the server at the other end of the socket ``connected`` says anything to a newcomer."""
    try:
        with closing(socket.socket(fileno=os.dup(connected))) as known:
            family, address = known.family, known.getpeername()
        with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
            probe.settimeout(PROBE_S)
            probe.connect(address)
            probe.sendall(_SSL_REQUEST)
            return bool(probe.recv(1))
    except OSError:
        return False


def _silent() -> errors.OperationalError:
    return errors.ConnectionTimeout("the server does not answer")
