"""A database that resets its connections: it answers each byte with the same one, and every so
many seconds ends all connections at once, as a load balancer or an administrator would.
"""

import contextlib
import socket
import struct
import threading

_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: what is closed is reset."""


class ResettingDatabase:
    def __init__(self, address: tuple[str, int], every_s: float) -> None:
        self._every_s = every_s
        self._connections: list[socket.socket] = []
        self._closed = threading.Event()
        self._door = socket.create_server(address)
        for work in (self._accept, self._reset):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _address = self._door.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                self._connections.append(connection)
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while asked := connection.recv(1024):
                connection.sendall(asked)
        connection.close()

    def _reset(self) -> None:
        is_over = False
        while not is_over:
            is_over = self._closed.wait(self._every_s)
            connections, self._connections = self._connections, []
            for connection in connections:
                # Whoever waits in recv() for it would keep it open.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
                connection.close()
