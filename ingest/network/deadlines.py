"""Bounds the whole time of a request. ``requests`` bounds only the time between two bytes."""

import os
import socket
import threading
from contextlib import suppress
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

READ_BYTES = 256 * 1024
_current = threading.local()


class Late(requests.Timeout):
    pass


class TooLarge(requests.RequestException):
    pass


class TimedAdapter(HTTPAdapter):
    """``whole_s``: from connecting to the last byte, for each redirect separately. ``silent_s``:
    for connecting, and between two bytes. Answers are read completely. Raises ``Late``,
    ``TooLarge`` or another ``requests.RequestException``.
    """

    def __init__(self, whole_s: float, silent_s: tuple[float, float], most_bytes: int) -> None:
        self.whole_s, self._silent_s, self._most_bytes = whole_s, silent_s, most_bytes
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def send(
        self, request: requests.PreparedRequest, *args: Any, **options: Any
    ) -> requests.Response:
        with _Deadline(self.whole_s) as deadline:
            try:
                answer = super().send(
                    request, *args, **options | {"stream": True, "timeout": self._silent_s}
                )
                with answer:
                    content = bytearray()
                    for piece in answer.iter_content(READ_BYTES):
                        content += piece
                        if len(content) > self._most_bytes:
                            raise TooLarge(f"more than {self._most_bytes:,} bytes")
            except requests.RequestException:
                if deadline.is_over:
                    raise Late(f"not within {self.whole_s:g} s") from None
                raise
            # Without a length, the end of the connection looks like the end of the body.
            if deadline.is_over:
                raise Late(f"not within {self.whole_s:g} s")
        answer._content = bytes(content)
        return answer


class _Deadline:
    def __init__(self, whole_s: float) -> None:
        self.is_over = False
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(whole_s, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        _current.deadline = self
        self._timer.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._timer.cancel()
        _current.deadline = None
        self.follow(None)

    def follow(self, connection: socket.socket | None) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            if connection is not None:
                self._connection = socket.socket(fileno=os.dup(connection.fileno()))
            if self.is_over:
                self._close_now()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            self._close_now()

    def _close_now(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)


def _follow(connection: socket.socket | None) -> None:
    deadline: _Deadline | None = getattr(_current, "deadline", None)
    if deadline is not None and connection is not None:
        deadline.follow(connection)


class _FollowedConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        connection = super()._new_conn()
        _follow(connection)
        return connection

    def request(self, *args: Any, **options: Any) -> None:
        _follow(self.sock)  # the connection may be an earlier one
        super().request(*args, **options)


class _FollowedTlsConnection(_FollowedConnection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _FollowedConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _FollowedTlsConnection
