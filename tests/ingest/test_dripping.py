"""A server that sends a byte every moment is given up in time, by every client that asks over HTTP,
with TLS and without.
"""

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import Unanswered
from ingest.network import webhdfs
from ingest.network.deadlines import Late, TimedAdapter
from ingest.sources import Tls
from tests.ingest.flink_rest.certificates import server_side
from webapp.accounts.oidc import provider

WITHIN_S = 0.6
ENDS_WITHIN_S = 20.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
STAGES = {
    "handshake": b"\x16\x03\x03\x3f\xff",
    "headers": b"HTTP/1.1 200 OK\r\nX-A: ",
    "body": HEAD + b'{"a": "',
}
"""How the server begins, before it drips: of a handshake the head of one large record."""


@pytest.fixture(
    params=["http headers", "http body", "https handshake", "https headers", "https body"]
)
def url(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Of a server that begins as the stage says, and then drips."""
    scheme, stage = request.param.split()
    ca_file, context = server_side(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", ca_file)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)

        def drip(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                if scheme == "https" and stage != "handshake":
                    client = context.wrap_socket(client, server_side=True)
                client.recv(65_536)
                client.sendall(STAGES[stage])
                ends_at = time.monotonic() + ENDS_WITHIN_S
                while time.monotonic() < ends_at and not over.wait(0.1):
                    client.sendall(b"H")

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    threading.Thread(target=drip, args=(server.accept()[0],)).start()

        serving = threading.Thread(target=serve)
        serving.start()
        yield f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        over.set()
        serving.join()


def by_requests(url: str) -> None:
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, TimedAdapter(WITHIN_S, (1, 1), 1_000_000))
        session.get(f"{url}/")


def by_webhdfs(url: str) -> None:
    parts = urlsplit(url)
    trusted = {"session_verify": os.environ["REQUESTS_CA_BUNDLE"]}
    webhdfs.WebHdfs(
        str(parts.hostname),
        parts.port,
        parts.scheme == "https",
        skip_instance_cache=True,
        **trusted,
    ).info("/a")


def by_openid_connect(url: str) -> None:
    provider._discovered.cache_clear()
    provider._discovered(url, "weir", "secret", "openid", 0)


def by_rest(url: str) -> None:
    """As Flink, History Servers, Prometheus, JMX, stores of logs and HTTP discovery are asked."""

    async def ask() -> None:
        async with RestClient(
            url, auth=None, tls=Tls(os.environ["REQUESTS_CA_BUNDLE"]), request_timeout_s=WITHIN_S
        ) as client:
            await client.get("/")

    asyncio.run(ask())


CLIENTS: dict[str, tuple[Callable[[str], None], type[Exception]]] = {
    "requests": (by_requests, Late),
    "WebHDFS": (by_webhdfs, webhdfs.WebHdfsError),
    "OpenID Connect": (by_openid_connect, Late),
    "REST": (by_rest, Unanswered),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_that_drips_is_given_up_in_time(
    url: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhdfs, "WHOLE_S", WITHIN_S)
    monkeypatch.setattr(provider, "REQUEST_TIMEOUT_S", WITHIN_S)
    ask, error = CLIENTS[client]
    began = time.monotonic()
    with pytest.raises(error):
        ask(url)
    assert WITHIN_S <= time.monotonic() - began < ENDS_WITHIN_S
