"""Loopback ports and sockets: finding a free one, and seeing whether a port is listened on."""

import socket
from pathlib import Path

_ANSWER_WITHIN_S = 1.0


def free_port() -> int:
    """A loopback port that is free now; it is not reserved."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_ANSWER_WITHIN_S):
            return True
    except OSError:
        return False


def redis_answers(path: Path) -> bool:
    """Whether a Redis at this Unix socket says PONG."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_WITHIN_S)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
