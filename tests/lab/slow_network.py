"""A slow network between two TaskManagers: what one sends from its data port passes a link of so
many bytes a second.

Flink connects to the port that a TaskManager announces (``taskmanager.data.port``); it listens on
another one (``…bind-port``).
"""

import contextlib
import socket
import threading
import time

PIECE_BYTES = 4096
BUFFER_BYTES = 16 * 1024
"""Little of what was sent waits in the link itself, so that it is Flink's buffers that fill."""


class SlowLink:
    """Forwards connections made to ``announced`` to ``listening``; what comes back is throttled,
    over all connections together.
    """

    def __init__(
        self, announced: tuple[str, int], listening: tuple[str, int], bytes_per_s: int
    ) -> None:
        self._listening, self._bytes_per_s = listening, bytes_per_s
        self._turn = threading.Lock()
        self._free_at = 0.0
        self._ends: list[socket.socket] = []
        self._door = _socket()
        self._door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._door.bind(announced)
        self._door.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for end in (self._door, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _address = self._door.accept()
                far = _socket()
                far.connect(self._listening)
                self._ends += [near, far]
                threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_slow: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                if is_slow:
                    self._wait(len(piece))
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _wait(self, size: int) -> None:
        with self._turn:
            now = time.monotonic()
            starts = max(now, self._free_at)
            self._free_at = starts + size / self._bytes_per_s
        time.sleep(max(0.0, self._free_at - now))


def _socket() -> socket.socket:
    """Buffers are set before a connection is made, since they decide on its window."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        made.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
    return made
