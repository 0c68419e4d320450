"""Somebody who may enter an address makes Weir knock at doors behind the firewall: the machine
itself, private networks, cloud metadata.

The same table is refused at save, by the form and by the API, and again at the connection, whatever
a name says in between.
"""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.selections import for_each
from tests.webapp.builders import person
from tests.webapp.delivery.builders import LOOPBACK, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver, receiving
from webapp.delivery.addresses import Policy, refusal
from webapp.delivery.models import Attempt, Endpoint
from webapp.delivery.sending import send_due
from webapp.delivery.targets import RefusedTarget, check_target, parse_target

STRICT = Policy()
EVERYTHING = Policy(
    allow_http=True, networks=(ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
)
"""The most an operator can allow."""

REFUSED_ALWAYS = [
    # metadata and link-local, in every spelling
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "https://169.254.170.2/v2/credentials",
    "https://[fe80::1]/",
    "https://[fd00:ec2::254]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[::169.254.169.254]/",
    "https://[64:ff9b::169.254.169.254]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a9fe:a9fe::1]/",
    "https://[2001:0:a9fe:a9fe::1]/",
    "https://[2001:db8::5efe:169.254.169.254]/",
    "https://100.100.100.200/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://metadata/",
    "https://[fe80::1%25eth0]/",
    # spellings some libraries take for an address
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://0x7f.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://017700000001/",
    "https://0/",
    "https://127.0.0.0x1/",
    "https://1.2.3.4.5/",
    "https://256.256.256.256/",
    "https://08.8.8.8/",
    # nobody's
    "https://0.0.0.0/",
    "https://[::]/",
    "https://224.0.0.1/",
    "https://[ff02::1]/",
    "https://255.255.255.255/",
    "https://240.0.0.1/",
    # user, password, ports, schemes, signs
    "https://user@example.org/",
    "https://user:password@example.org/",
    "https://example.org@127.0.0.1/",
    "https://127.0.0.1:443@example.org/",
    "https://example.org:22/",
    "https://example.org:25/",
    "https://example.org:0/",
    "https://example.org:65536/",
    "https://example.org:port/",
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://example.org/",
    "javascript:alert(1)",
    "//example.org/",
    "example.org",
    "https://",
    "https:///path",
    "https://exa mple.org/",
    "https://example.org\\@127.0.0.1/",
    "https://example.org/\r\nx: y",
    "https://example.org/#fragment",
    "https://example.org/a b",
    "https://example..org/",
    "https://-example.org/",
    "https://ex%61mple.org/",
    "https://[::1/",
    "https://[not-an-address]/",
    "https://" + "a" * 64 + ".org/",
    # more spellings of the same
    "https://[::ffff:0:169.254.169.254]/",
    "https://[64:ff9b:1::a9fe:a9fe]/",
    "https://[2001:0:4136:e378:8000:63bf:5601:5601]/",
    "https://[fe80::a9fe:a9fe]:8443/",
    "https://[ff0e::1]/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://169.254.43518/",
    "https://169.16689662/",
    "https://169.254.169.254./",
    "https://１６９.254.169.254/",
    "https://169。254。169。254/",
    "https://METADATA.google.internal./",
    "https://metadata.goog/",
    "https://instance-data/latest/",
    "https://ⓜetadata.google.internal/",
    "https://169.254.169.254%2f@example.org/",
    "https://example.org%00.evil.example/",
    "https://example.org%23@127.0.0.1/",
    "https://example.org:80:80/",
    "https://example.org:-1/",
    "https:/\\127.0.0.1/",
    "http:127.0.0.1/",
    " https://example.org/",
    "https://example.org/\t",
    "dict://127.0.0.1:11211/",
    "data:text/html,x",
    "unix:///var/run/docker.sock",
    "https://example.org/" + "a" * 2_000,
]

REFUSED_UNLESS_ALLOWED = [
    "https://127.0.0.1/",
    "https://127.255.255.254/",
    "https://[::1]/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://198.18.0.1/",
    "https://192.0.2.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[2002:7f00:1::]/",
    "https://[fc00::1]/",
    "https://[fd12:3456::1]/",
    "https://[2001:db8::1]/",
    "https://１２７.0.0.1/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://127.0.0.1./",
    "http://10.0.0.1/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:c0a8:101]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[2002:a00:1::1]/",
    "https://[2002:c0a8:101::]/",
    "https://[::1]:8443/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://127.0.0.1:8000/",
    "https://192.0.0.8/",
    "https://192.88.99.1/",
    "https://[fec0::1]/",
    "https://[3fff::1]/",
    "https://[2001:10::1]/",
]
PUBLIC = [
    "https://8.8.8.8/hook",
    "https://1.1.1.1:8443/",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[64:ff9b::8.8.8.8]/",
    "https://172.32.0.1/",
    "https://192.169.0.1/",
    "https://100.128.0.1/",
    "https://11.0.0.1/",
]
"""Not refused, and connected to by no test."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@for_each(url=[*REFUSED_ALWAYS, *REFUSED_UNLESS_ALLOWED])
def test_it_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(RefusedTarget):
        parse_target(url, STRICT)


@pytest.mark.parametrize("url", PUBLIC)
def test_public_addresses_are_allowed(url: str) -> None:
    assert refusal(parse_target(url, STRICT).host, "https", STRICT) == ""


@pytest.mark.django_db
def test_the_table_is_refused_when_it_is_entered() -> None:
    """By the form of the page; the public ones are taken."""
    cache.clear()
    client = Client()
    client.force_login(person("olga", operator=True))
    for number, url in enumerate([*REFUSED_ALWAYS, *REFUSED_UNLESS_ALLOWED]):
        told = {"name": f"e{number}", "format": "weir", "min_severity": "warning", "url": url}
        assert client.post(reverse("endpoint-add"), told).status_code == 200, url
    assert not Endpoint.objects.exists()
    for number, url in enumerate(PUBLIC):
        told = {"name": f"e{number}", "format": "weir", "min_severity": "warning", "url": url}
        assert client.post(reverse("endpoint-add"), told).status_code in (200, 302), url
    assert Endpoint.objects.count() == len(PUBLIC)


@for_each(url=REFUSED_ALWAYS)
def test_it_is_refused_whatever_an_operator_allows(url: str) -> None:
    with pytest.raises(RefusedTarget):
        parse_target(url, EVERYTHING)


@pytest.mark.django_db
def test_the_same_table_is_refused_when_sending(receiver: Receiver) -> None:
    """Rows may be older than a rule, or come from elsewhere: the sender checks by itself."""
    table = [*REFUSED_ALWAYS, *REFUSED_UNLESS_ALLOWED]
    rows = [
        delivery(endpoint(url), notice(alert(family=f"f{number}")))
        for number, url in enumerate(table)
    ]
    instant = timezone.now()
    # A clock that stands still: no second attempt falls due, however slow the machine.
    send_due(STRICT, lambda: instant)
    assert {attempt.error for attempt in Attempt.objects.all()} == {"refused_target"}
    assert Attempt.objects.count() == len(rows) >= 120


def answering(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """A name server that says one thing after the other; the last for good."""
    left = list(answers)

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        said = left.pop(0) if len(left) > 1 else left[0]
        return [
            (
                socket.AF_INET6 if ":" in ip else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (ip, port),
            )
            for ip in said
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    "leads_to",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"], ["::1"], ["::ffff:10.0.0.1"]],
)
def test_a_name_is_as_good_as_the_worst_of_its_addresses(
    monkeypatch: pytest.MonkeyPatch, leads_to: list[str]
) -> None:
    answering(monkeypatch, leads_to)
    with pytest.raises(RefusedTarget, match="innocent"):
        check_target("https://innocent.example.org/", STRICT)


@pytest.mark.django_db
def test_a_name_that_changes_its_mind_after_the_check_is_refused_at_the_connection(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    answering(monkeypatch, ["93.184.215.14"], ["127.0.0.1"])
    url = receiver.url.replace("127.0.0.1", "rebinding.example.org")
    assert check_target(url, Policy(allow_http=True)).host == "rebinding.example.org"
    row = delivery(endpoint(f"{url}/ok"))
    send_due(Policy(allow_http=True))
    assert Attempt.objects.get(delivery=row).error == "refused_target"
    assert not receiver.got


@pytest.mark.django_db
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_loopback_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.headers[f"/{status}"] = {"location": f"{receiver.url}/ok"}
    send_due_to = delivery(endpoint(f"{receiver.url}/{status}"))
    send_due(LOOPBACK)
    assert Attempt.objects.get(delivery=send_due_to).error == "redirect"
    assert [got.path for got in receiver.got] == [f"/{status}"]


@pytest.mark.django_db
def test_proxies_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    monkeypatch.setenv("HTTP_PROXY", receiver.url)
    monkeypatch.setenv("http_proxy", receiver.url)
    row = delivery(endpoint("http://127.0.0.1:9999/"))
    send_due(LOOPBACK)
    assert Attempt.objects.get(delivery=row).error == "no_connection"
    assert not receiver.got


@pytest.mark.parametrize("url", REFUSED_UNLESS_ALLOWED[:12])
def test_a_private_network_works_where_the_operator_allows_it(url: str) -> None:
    assert parse_target(url, EVERYTHING).url


def test_http_needs_a_network_that_is_allowed_or_the_operators_word() -> None:
    ten = Policy(networks=(ipaddress.ip_network("10.0.0.0/8"),))
    assert parse_target("http://10.1.2.3:9093/hook", ten).origin == "http://10.1.2.3:9093"
    assert refusal("8.8.8.8", "http", ten)
    assert not refusal("8.8.8.8", "http", Policy(allow_http=True))
    assert not refusal("8.8.8.8", "https", ten)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("https://Bücher.example.org/x", "https://xn--bcher-kva.example.org/x"),
        ("https://EXAMPLE.org", "https://example.org/"),
        ("https://example.org:443/a?b=c", "https://example.org/a?b=c"),
        ("https://[2606:4700:0:0::1111]:8443/", "https://[2606:4700::1111]:8443/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
    ],
)
def test_names_are_brought_to_one_spelling(written: str, sent: str) -> None:
    assert parse_target(written, STRICT).url == sent


def test_a_refusal_does_not_repeat_what_may_be_a_password() -> None:
    with pytest.raises(RefusedTarget) as refused:
        parse_target("https://127.0.0.1/canary-4711?key=canary-4711", STRICT)
    assert "canary" not in str(refused.value)
