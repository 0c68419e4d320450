"""A slow link carries everything, one way no faster than it may."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.lab.slow_network import SlowLink

SENT = bytes(range(256)) * 400
BYTES_PER_S = 200_000


@pytest.fixture
def link() -> Iterator[tuple[SlowLink, tuple[str, int]]]:
    """In front of a server that answers what it is sent."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        announced = free.getsockname()
        free.close()
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        made = SlowLink(announced, server.getsockname(), BYTES_PER_S)
        yield made, announced
        made.close()


def _echo(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection, _address = server.accept()
        while piece := connection.recv(4096):
            connection.sendall(piece)


def test_what_comes_back_is_whole_and_slow(link) -> None:
    _made, announced = link
    begun, got = time.monotonic(), b""
    with socket.create_connection(announced, timeout=20) as near:
        threading.Thread(target=near.sendall, args=(SENT,), daemon=True).start()
        while len(got) < len(SENT):
            got += near.recv(65536)
    assert got == SENT
    assert time.monotonic() - begun >= 0.9 * len(SENT) / BYTES_PER_S


def test_a_closed_link_ends_its_connections(link) -> None:
    made, announced = link
    with socket.create_connection(announced, timeout=20) as near:
        near.sendall(b"x")
        assert near.recv(1) == b"x"
        made.close()
        assert near.recv(1) == b""
