"""A server that sends a byte every moment is given up in time, by every client that asks over HTTP."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import requests

from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import Unanswered
from ingest.network import webhdfs
from ingest.network.deadlines import Late, TimedAdapter
from ingest.sources import Tls
from webapp.accounts.oidc import provider

WITHIN_S = 0.6
ENDS_WITHIN_S = 20.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
STAGES = {"headers": b"HTTP/1.1 200 OK\r\nX-A: ", "body": HEAD + b'{"a": "'}


@pytest.fixture(params=STAGES)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of a server that begins as the stage says, and then drips."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)

        def drip(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                client.recv(65_536)
                client.sendall(STAGES[request.param])
                while not over.wait(0.1):
                    client.sendall(b"H")

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    threading.Thread(target=drip, args=(server.accept()[0],)).start()

        serving = threading.Thread(target=serve)
        serving.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        over.set()
        serving.join()


def by_requests(address: str) -> None:
    with requests.Session() as session:
        session.mount("http://", TimedAdapter(WITHIN_S, (1, 1), 1_000_000))
        session.get(f"http://{address}/")


def by_webhdfs(address: str) -> None:
    host, _, port = address.partition(":")
    webhdfs.WebHdfs(host, int(port), skip_instance_cache=True).info("/a")


def by_openid_connect(address: str) -> None:
    provider._discovered.cache_clear()
    provider._discovered(f"http://{address}", "weir", "secret", "openid", 0)


def by_rest(address: str) -> None:
    """As Flink, History Servers, Prometheus, JMX, stores of logs and HTTP discovery are asked."""

    async def ask() -> None:
        async with RestClient(f"http://{address}", auth=None, tls=Tls(""), request_timeout_s=WITHIN_S) as client:
            await client.get("/")

    asyncio.run(ask())


CLIENTS: dict[str, tuple[Callable[[str], None], type[Exception]]] = {
    "requests": (by_requests, Late),
    "WebHDFS": (by_webhdfs, webhdfs.WebHdfsError),
    "OpenID Connect": (by_openid_connect, Late),
    "REST": (by_rest, Unanswered),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_that_drips_is_given_up_in_time(address: str, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhdfs, "WHOLE_S", WITHIN_S)
    monkeypatch.setattr(provider, "WHOLE_S", WITHIN_S)
    ask, error = CLIENTS[client]
    began = time.monotonic()
    with pytest.raises(error):
        ask(address)
    assert time.monotonic() - began < ENDS_WITHIN_S
