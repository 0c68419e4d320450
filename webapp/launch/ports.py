"""Loopback ports: finding a free one, and seeing whether one is listened on."""

import socket

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
