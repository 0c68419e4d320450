"""Where clusters and their logs may be: refused when entered and again at the connection, and
nothing is told of what answered.
"""

import asyncio
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ingest.connection_test import probe
from ingest.flink_logs.files import find
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer
from ingest.network.clusters import VARIABLE, refusal
from ingest.sources import ClusterSource, LogSource
from webapp.fleet.models import Cluster

CANARY = "c4n4ry-of-another-server"
METADATA = [
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.170.2/v2",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://100.100.100.200/",
    "http://0.0.0.0:8081/",
    "http://0:8081/",
    "http://[::]:8081/",
    "http://224.0.0.1:8081/",
    "http://255.255.255.255:8081/",
]
UNREADABLE = (
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://0:8081/",
)
ENTERED = {
    "name": "lab",
    "auth_scheme": "",
    "log_layout": "flink",
    "time_zone": "UTC",
    "metrics_interval_s": "30",
    "verify_tls": "on",
}


@contextmanager
def serving(
    status: int = 200,
    body: bytes = b"{}",
    headers: dict[str, str] | None = None,
    host: str = "127.0.0.1",
) -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything alike, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status, CANARY)
            for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer((host, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{host}:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def asked(url: str) -> BadAnswer:
    async def conversation() -> BadAnswer:
        async with RestClient(url, request_timeout_s=2) as client:
            with pytest.raises(BadAnswer) as raised:
                await client.get("/overview")
            return raised.value

    return asyncio.run(conversation())


@pytest.mark.django_db
@pytest.mark.parametrize("button", [{"test": "1"}, {}], ids=["test", "save"])
@pytest.mark.parametrize("url", METADATA[::4])
def test_a_metadata_address_cannot_be_entered_in_any_spelling(
    operator: Client, url: str, button: dict[str, str]
) -> None:
    for field in ("url", "history_url", "log_globs"):
        page = operator.post(reverse("cluster-add"), {**ENTERED, field: url, **button})
        assert page.status_code == 200
        assert "never asks" in str(page.context["form"].errors[field]), field
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("url", METADATA)
def test_a_row_of_before_is_refused_at_the_connection(url: str) -> None:
    """The client itself refuses spellings that are no address by any standard, such as one large
    number.
    """
    error = asked(url)
    assert error.reason == ("http_error" if url in UNREADABLE else "refused_address")
    assert ("is not asked" in str(error)) == (url not in UNREADABLE)


@pytest.mark.parametrize(
    "glob",
    [
        "http://169.254.169.254/latest/*",
        "simplecache::http://169.254.169.254/x",
        "ftp://169.254.169.254/a",
        "https://2852039166/x",
    ],
)
def test_logs_are_not_read_there(glob: str) -> None:
    files, skips = find([glob])
    assert not files
    assert "never asks" in skips[0].detail
    seen = probe(ClusterSource("x", logs=LogSource((glob,))), 5)
    assert not seen.reachable
    assert sum("never asks" in line for line in seen.misses) == 1


def test_what_is_skipped_is_named_without_the_password_of_its_address() -> None:
    with serving(403) as (url, _):
        for glob in (
            url.replace("://", "://ops:c4n4ry@") + "/a.log",
            url.replace("://", "://ops:c4n4ry@") + "/*.log?sig=c4n4ry0123456789abcdef",
        ):
            _, skips = find([glob])
            assert skips and "c4n4ry" not in f"{skips[0].subject} {skips[0].detail}"


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """A name server that says one thing after the other; the last for good."""
    left, real = list(answers), socket.getaddrinfo

    def getaddrinfo(host: str, port: Any, *rest: Any, **named: Any) -> Any:
        if host != "jobmanager.example.org":
            return real(host, port, *rest, **named)
        said = left.pop(0) if len(left) > 1 else left[0]
        if ":" in said:
            return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", (said, port, 0, 0))]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (said, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.django_db
@pytest.mark.parametrize("leads_to", ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254"])
def test_a_name_that_leads_there_is_refused(
    operator: Client, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    answering(monkeypatch, leads_to)
    page = operator.post(
        reverse("cluster-add"), {**ENTERED, "url": "http://jobmanager.example.org:8081"}
    )
    assert "url" in page.context["form"].errors
    assert asked("http://jobmanager.example.org:8081").reason == "refused_address"


@pytest.mark.django_db
def test_a_name_that_changes_its_mind_after_the_check_is_refused_at_the_connection(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "127.0.0.2/32")
    with serving() as (url, got):
        moved = url.replace("127.0.0.1", "jobmanager.example.org")
        answering(monkeypatch, "127.0.0.2", "127.0.0.1")
        tried = operator.post(reverse("cluster-add"), {**ENTERED, "url": moved, "test": "1"})
        assert "is not asked" in tried.content.decode()
        answering(monkeypatch, "127.0.0.2", "127.0.0.1")
        page = operator.post(reverse("cluster-add"), {**ENTERED, "url": moved})
        assert "outside of" in page.content.decode()
        assert asked(moved).reason == "refused_address"
        assert not got


def test_a_redirect_of_logs_over_http_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "127.0.0.1/32")
    with (
        serving(host="127.0.0.2") as (secret, got),
        serving(302, headers={"location": f"{secret}/x.log"}) as (url, _),
    ):
        files, skips = find([f"{url}/x.log"])
        assert not files and skips and not got


def test_only_the_networks_of_the_setting_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("10.1.2.3", "127.0.0.1", "8.8.8.8", "fd12::1", "::1", "192.168.0.1"):
        assert not refusal(address)
    monkeypatch.setenv(VARIABLE, "10.0.0.0/8, fd12::/16")
    assert [
        address
        for address in ("10.1.2.3", "127.0.0.1", "8.8.8.8", "fd12::1", "::1", "::ffff:10.1.2.3")
        if not refusal(address)
    ] == [
        "10.1.2.3",
        "fd12::1",
        "::ffff:10.1.2.3",
    ]
    assert refusal("169.254.169.254")


def test_no_setting_opens_what_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.0.0.0/0,::/0,169.254.0.0/16")
    assert all(asked(url).reason in ("refused_address", "http_error") for url in METADATA)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, CANARY.encode()),
        (403, b'{"errors": ["' + CANARY.encode() + b'"]}'),
        (404, CANARY.encode()),
        (200, CANARY.encode()),
        (200, (f'{{"flink-version": "{CANARY}"}}').encode()),
        (200, f'{{"{CANARY}": 1}}'.encode()),
        (200, b"<html>" + CANARY.encode()),
    ],
)
def test_nothing_of_what_answered_is_told(operator: Client, status: int, body: bytes) -> None:
    with serving(status, body) as (url, got):
        entered = {
            **ENTERED,
            "url": url,
            "history_url": url,
            "log_globs": f"{url}/a*.log\n{url}/b.log",
        }
        tried = operator.post(reverse("cluster-add"), {**entered, "test": "1"}).content.decode()
        operator.post(reverse("cluster-add"), entered)
        shown = tried + operator.get(reverse("clusters")).content.decode()
        assert got
    assert CANARY not in shown


def test_the_form_asks_for_each_thing_once(operator):
    names = re.findall(
        r'<(?:input|select|textarea)[^>]* name="([^"]+)"',
        operator.get(reverse("cluster-add"))
        .content.decode()
        .partition("<main")[2]
        .partition("</main>")[0],
    )
    names = [
        name for name in names if name != "csrfmiddlewaretoken"
    ]  # one for each form of the page
    assert len(names) == len(set(names))
    assert {"url", "prometheus_url", "logs_are_pushed"} <= set(names)
