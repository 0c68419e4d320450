"""It answers, and then resets all who are connected."""

import socket

import pytest

from tests.lab.resetting_database import ResettingDatabase


def test_everybody_is_answered_and_then_reset_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    database = ResettingDatabase(address, every_s=0.3)
    clients = [socket.create_connection(address, timeout=20) for _ in range(3)]
    for number, client in enumerate(clients):
        client.sendall(bytes([number]))
        assert client.recv(1) == bytes([number])
    for client in clients:
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        client.close()
    with socket.create_connection(address, timeout=20) as again:
        again.sendall(b"x")
        assert again.recv(1) == b"x"
    database.close()
