"""A real HTTP server on loopback that behaves as its paths say, and remembers what it got."""

import contextlib
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Got:
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.time)


@dataclass
class Receiver:
    """``/204`` answers with that status; ``/ok``, ``/drip``, ``/endless``, ``/reset``, ``/silent``,
    ``/garbage`` do what they say.

    ``answers`` puts a body, headers or a list of statuses, one after the other, to a path.
    """

    url: str = ""
    got: list[Got] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    hold: threading.Event = field(default_factory=threading.Event)
    most_sent_bytes: int = 0

    def of(self, path: str) -> list[Got]:
        return [one for one in self.got if one.path == path]


@contextlib.contextmanager
def receiving(tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None: ...

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Got(self.path, headers, body))
            behave = getattr(self, "_" + self.path.strip("/").split("/")[0].split("?")[0], None)
            with contextlib.suppress(OSError):
                behave() if behave else self._plain()

        def _plain(self) -> None:
            word = self.path.strip("/").split("/")[0].split("?")[0]
            planned = receiver.statuses.get(self.path)
            status = planned.pop(0) if planned else int(word) if word.isdigit() else 200
            body = b"" if status == 204 else receiver.bodies.get(self.path, b"ok")
            self.send_response(status)
            for name, value in receiver.headers.get(self.path, {}).items():
                self.send_header(name, value)
            if status >= 200:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _drip(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for _ in range(600):
                self.wfile.write(b"x: y\r\n")
                self.wfile.flush()
                time.sleep(0.05)

        def _endless(self) -> None:
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
            while True:
                self.wfile.write(chunk)
                receiver.most_sent_bytes += len(chunk)

        def _reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())

        def _silent(self) -> None:
            receiver.hold.wait(30)

        def _garbage(self) -> None:
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, request: Any, client_address: Any) -> None: ...

    server = Server(("127.0.0.1", port), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    receiver.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        receiver.hold.set()
        server.shutdown()
        server.server_close()
