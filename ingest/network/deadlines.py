"""Bounds the whole time of each request of ``requests``, which only bounds the time between two
bytes.
"""

import os
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

READ_BYTES = 256 * 1024
_asking = threading.local()


class Late(requests.Timeout):
    pass


class TooLarge(requests.RequestException):
    pass


class TimedAdapter(HTTPAdapter):
    """``whole_s``: from connecting to the last byte, each redirect by itself. ``silent_s``: for
    connecting, and between two bytes. Answers are read whole. Raises :class:`Late`,
    :class:`TooLarge`, other ``requests.RequestException``.
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
            # A body without a length ends with its connection.
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
        _asking.deadline = self
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        _asking.deadline = None
        self.follow(None)

    def follow(self, connection: socket.socket | None) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            if connection is not None:
                self._connection = socket.socket(fileno=os.dup(connection.fileno()))
            if self.is_over:
                self._shut()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut()

    def _shut(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)


def _follow(connection: socket.socket | None) -> None:
    deadline: _Deadline | None = getattr(_asking, "deadline", None)
    if deadline is not None and connection is not None:
        deadline.follow(connection)


class _Followed(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        made = super()._new_conn()
        _follow(made)
        return made

    def request(self, *args: Any, **options: Any) -> None:
        _follow(self.sock)  # of a connection that is used again
        super().request(*args, **options)


class _TlsFollowed(_Followed, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Followed


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsFollowed
